package runtime

import "fmt"

// terms are the limits of the calls of one class of callers, see PoolOptions.Classes.
type terms struct {
	Limits        // without zero fields; Concurrency and Queue are those of all callers together
	own    Limits // those that the class sets; Concurrency and Queue are those of its callers together
}

// termsOf returns the terms of class 0, to which all other callers belong, and of each class.
func termsOf(all Limits, classes []Limits) []*terms {
	all = all.WithDefaults()
	list := []*terms{{Limits: all}}
	for _, own := range classes {
		t := &terms{Limits: own.Or(all), own: own}
		t.Memory, t.Concurrency, t.Queue = min(t.Memory, maxMemory), all.Concurrency, all.Queue
		list = append(list, t)
	}
	return list
}

// Setting returns the key of a limit in the configuration of a plugin, such as limits.deadline, for errors: that of a
// class of callers, or that of all.
func Setting(limit string, ofClass bool) string {
	if ofClass {
		return "limits.for." + limit
	}
	return "limits." + limit
}

// overtime returns the cause of the end of a call after its deadline.
func (t *terms) overtime(patient bool) overtime {
	if patient {
		return overtime{Setting("task", t.own.Task != 0), t.Task}
	}
	return overtime{Setting("deadline", t.own.Deadline != 0), t.Deadline}
}

// memorySetting returns the name of the setting of Memory. The terms may be nil.
func (t *terms) memorySetting() string { return Setting("memory", t != nil && t.own.Memory != 0) }

// checkStart is Limits.CheckStart.
func (t *terms) checkStart(memory, beside uint64) error {
	switch {
	case memory > t.Memory:
		return fmt.Errorf("the module starts with %s of memory, and %s is %s", bytesText(memory), t.memorySetting(), bytesText(t.Memory))
	case memory+beside > t.Memory:
		return fmt.Errorf("the module starts with %s of memory and needs %s more for its tables, element segments and globals, and %s is %s",
			bytesText(memory), bytesText(beside), t.memorySetting(), bytesText(t.Memory))
	}
	return nil
}
