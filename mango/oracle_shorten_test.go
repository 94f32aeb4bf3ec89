package mango_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

// trial stands for testing.T where a failure is looked for: the first one ends it.
type trial struct{ cleanups []func() }

type failed string

func (*trial) Helper()                             {}
func (t *trial) Errorf(format string, args ...any) { panic(failed(fmt.Sprintf(format, args...))) }
func (t *trial) Fatalf(format string, args ...any) { panic(failed(fmt.Sprintf(format, args...))) }
func (t *trial) Fatal(args ...any)                 { panic(failed(fmt.Sprint(args...))) }
func (t *trial) Cleanup(fn func())                 { t.cleanups = append(t.cleanups, fn) }

// attempt says how fn fails, "" if it does not.
func attempt(fn func(t tester)) (failure string) {
	t := new(trial)
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failed:
			failure = string(r)
		default:
			failure = fmt.Sprint("panic: ", r)
		}
		for _, cleanup := range slices.Backward(t.cleanups) {
			cleanup()
		}
	}()
	fn(t)
	return ""
}

// mostAttempts bounds the search for a shorter case.
const mostAttempts = 1500

// shorten leaves out what a failure does not need, and tells what is left.
func (c trouble) shorten(failure string) string {
	left := mostAttempts
	fails := func(c trouble) bool {
		left--
		found := attempt(func(t tester) { c.open(t).agree(t, c.asked, new(kindCounts)) })
		same := found != "" && found[0] == failure[0] // an error, or another answer
		if same {
			failure = found
		}
		return same
	}
	if c.selector == "" || !fails(c) {
		return failure // the question alone is none: what came before it counts, or it is about distinct values
	}
	take := func(next trouble) bool {
		ok := left > 0 && fails(next)
		if ok {
			c = next
		}
		return ok
	}
	for size := len(c.docs); size > 0; size /= 2 {
		for from := 0; from < len(c.docs); {
			next := c
			next.docs = slices.Delete(slices.Clone(c.docs), from, min(from+size, len(c.docs)))
			if !take(next) {
				from += size
			}
		}
	}
	for i := 0; i < len(c.indexes); {
		next := c
		if next.indexes = slices.Delete(slices.Clone(c.indexes), i, i+1); !take(next) {
			i++
		}
	}
	parts := []*string{&c.selector}
	for i := range c.docs {
		parts = append(parts, &c.docs[i])
	}
	for _, part := range parts {
		for again := true; again; {
			again = slices.ContainsFunc(shorter(*part), func(text string) bool {
				before := *part
				if *part = text; left > 0 && fails(c) {
					return true
				}
				*part = before
				return false
			})
		}
	}
	return fmt.Sprintf("%s\nindexes %s\ndocuments %s\nwith limits %v, partitioned %v, indexes after the documents: %v",
		failure, strings.Join(c.indexes, "\n        "), strings.Join(c.docs, "\n          "),
		c.limits, c.partitioned, c.late)
}

// shorter gives texts of values that say less than one: a part of it, or the whole with less in one
// place.
func shorter(text string) (list []string) {
	v, err := ejson.Parse([]byte(text))
	if err != nil {
		return nil
	}
	parts, names := []string{}, []string{}
	open, end := "[", "]"
	switch v.Kind() {
	case ejson.Object:
		open, end = "{", "}"
		for name, value := range v.Members() {
			names = append(names, string(name.AppendJSON(nil))+":")
			parts = append(parts, string(value.AppendJSON(nil)))
			if strings.HasPrefix(name.Text(), "$") && value.Kind() == ejson.Object {
				list = append(list, parts[len(parts)-1])
			}
		}
	case ejson.Array:
		for value := range v.Elements() {
			names = append(names, "")
			parts = append(parts, string(value.AppendJSON(nil)))
		}
		list = append(list, parts...)
	default:
		return nil
	}
	join := func(without int, with string) string {
		var all []string
		for i := range parts {
			switch {
			case i != without:
				all = append(all, names[i]+parts[i])
			case with != "":
				all = append(all, names[i]+with)
			}
		}
		return open + strings.Join(all, ",") + end
	}
	for i := range parts {
		if len(parts) > 1 { // nothing passes an empty $and or $or
			list = append(list, join(i, ""))
		}
	}
	for i := range parts {
		for _, text := range shorter(parts[i]) {
			list = append(list, join(i, text))
		}
	}
	return list
}
