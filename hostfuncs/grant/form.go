package grant

import (
	"slices"
	"strings"
	"sync"
)

// lineForm is the notation of the lines of one family.
type lineForm struct {
	family     Family
	example    string
	bare       bool // the family alone is a complete line
	structured bool // the value may be a map or a list
	deniable   bool // a deny line may name effects of the family
	parse      func(Node) (rule, error)
	options    map[string]lineOption
}

// forms are the notations of all families, made on first use, since the functions of a notation refer to the table.
var forms struct {
	once sync.Once
	all  []lineForm
}

// lineForms returns the notation of all families, in the order of error messages.
func lineForms() []lineForm {
	forms.once.Do(func() {
		forms.all = []lineForm{
			callerForm(), configForm(), elicitationForm(), fsForm(), kvForm(), netForm(), resourcesForm(), rootsForm(), samplingForm(), secretForm(), toolsForm(),
		}
		for i := range forms.all {
			if f := &forms.all[i]; f.family != Config {
				f.options["who"] = whoOption()
			}
		}
	})
	return forms.all
}

// formOf returns the notation of a family; false if this version has none.
func formOf(f Family) (lineForm, bool) {
	all := lineForms()
	i := slices.IndexFunc(all, func(form lineForm) bool { return form.family == f })
	if i < 0 {
		return lineForm{}, false
	}
	return all[i], true
}

// later reports whether the family is reserved but not enforced by this version.
func later(f Family) bool {
	switch f {
	case "clock", "random", "ui", "links":
		return true
	}
	return false
}

// wordsOf lists the words that a line may begin with, for error messages.
func wordsOf() string {
	var words []string
	for _, f := range lineForms() {
		words = append(words, string(f.family))
	}
	return strings.Join(words, ", ") + " or deny"
}

// isHead reports whether a member names the family rather than an option.
func isHead(key string) bool {
	_, available := formOf(Family(key))
	return key == "deny" || available || later(Family(key))
}

// example returns a line of the family; of one without lines, any line.
func example(f Family) string {
	if form, ok := formOf(f); ok {
		return form.example
	}
	return fsForm().example
}

// oneText rejects a value that is not one text, which is empty exactly in a bare line.
func (f lineForm) oneText(n Node) error {
	if n.Kind != Scalar || n.Value == "" != f.bare {
		return failf(n.Line, "%q takes one line of text, such as %q", n.Key, f.example)
	}
	return nil
}
