package settings

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/sallyport-mcp/sallyport/internal/strictyaml"
)

// resolve returns each key with the text of its strongest source. lines are those of the keys in the file.
func resolve(o Options, file string, root *strictyaml.Node, lines map[string]int) (values Values, err error) {
	v := viper.New()
	if err := v.MergeConfigMap(hostMap(root)); err != nil {
		return values, err
	}
	for _, k := range Keys() {
		v.SetDefault(k.Name, k.Default)
		if err := v.BindEnv(k.Name, k.Env()); err != nil {
			return values, err
		}
		if f := flagOf(o.Flags, k); f != nil {
			if err := v.BindPFlag(k.Name, f); err != nil {
				return values, err
			}
		}
		val := sourceOf(o, k, file, lines)
		val.Text = textOf(v, k)
		if k.Name == "dir" && o.Dir != "" {
			val.Text, val.Source, val.Where = o.Dir, FromFlag, "DIR"
		}
		if err := val.check(); err != nil {
			return values, err
		}
		values.add(val)
	}
	return values, nil
}

func flagOf(flags *pflag.FlagSet, k Key) *pflag.Flag {
	if flags == nil || k.Flag == "" {
		return nil
	}
	return flags.Lookup(k.Flag)
}

func sourceOf(o Options, k Key, file string, lines map[string]int) Value {
	if f := flagOf(o.Flags, k); f != nil && f.Changed {
		return Value{Key: k, Source: FromFlag, Where: "--" + f.Name}
	}
	if os.Getenv(k.Env()) != "" {
		return Value{Key: k, Source: FromEnv, Where: k.Env()}
	}
	if line, ok := lines[k.Name]; ok {
		return Value{Key: k, Source: FromFile, Where: file + ":" + strconv.Itoa(line)}
	}
	return Value{Key: k, Source: FromDefault}
}

// Strays returns the names of SALLYPORT_* variables without effect, sorted: most often typing errors.
func Strays() []string {
	known := map[string]bool{}
	for _, k := range Keys() {
		known[k.Env()] = true
	}
	var strays []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, envPrefix) && !known[name] {
			strays = append(strays, name)
		}
	}
	slices.Sort(strays)
	return strays
}

func (v Value) check() error {
	if v.Text == "" || v.Source == FromDefault {
		return nil
	}
	if err := check(v.Key.Kind, v.Text); err != nil {
		return fmt.Errorf("%s: %w", v.Where, err)
	}
	return nil
}

// textOf returns the effective value of k; a list is joined with commas.
func textOf(v *viper.Viper, k Key) string {
	if k.Kind == List {
		if items, ok := v.Get(k.Name).([]string); ok {
			return strings.Join(items, ",")
		}
	}
	return v.GetString(k.Name)
}
