package folder

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/settee-db/settee/eventing/definition"
)

// Change is what has to be done to one function, in this order: it is paused, stored, and led to a
// state.
type Change struct {
	Ref   definition.Ref
	Diff  string               // what differs in its files; "" for a function that is new, or is deleted
	Pause bool                 // first
	Store *definition.Function // nil: it is as it is to be
	Then  definition.Operation // "": it stays in its state
	// Delete says that there is no such function in the folder; it is undeployed before, if Then
	// says so.
	Delete bool
}

// String is one line for people.
func (c *Change) String() string {
	switch text := c.Ref.String(); {
	case c.Delete:
		return "- " + text
	case c.Store != nil && c.Diff == "":
		return "+ " + text
	case c.Store == nil:
		return "~ " + text + ": " + string(c.Then)
	default:
		return "~ " + text
	}
}

// Plan compares what a server has with what it is to have, and gives what to do, by names. Both sides'
// states are in their settings: a function that is to be undeployed stays in the state that it has.
// Functions that are on the server only are deleted where prune says so. The error is for all that
// cannot be done.
func Plan(server, wanted []*definition.Function, prune bool) (changes []*Change, err error) {
	there := make(map[definition.Ref]*definition.Function)
	for _, f := range server {
		there[f.Ref()] = f
	}
	for _, f := range wanted {
		c, err := compare(there[f.Ref()], f)
		if err != nil {
			return nil, err
		}
		if c != nil {
			changes = append(changes, c)
		}
		delete(there, f.Ref())
	}
	if prune {
		for ref, f := range maps.All(there) {
			c := &Change{Ref: ref, Delete: true}
			if stateOf(f) != definition.Undeployed {
				c.Then = definition.OpUndeploy
			}
			changes = append(changes, c)
		}
	}
	slices.SortFunc(changes, func(a, b *Change) int { return strings.Compare(a.Ref.String(), b.Ref.String()) })
	return changes, nil
}

// Deployed are the functions that are not undeployed when a plan is done.
func Deployed(server, wanted []*definition.Function, prune bool) (list []*definition.Function) {
	here := make(map[definition.Ref]definition.State)
	for _, f := range server {
		here[f.Ref()] = stateOf(f)
	}
	for _, f := range wanted {
		if stateOf(f) == definition.Deployed || here[f.Ref()] != "" && here[f.Ref()] != definition.Undeployed {
			list = append(list, f)
		}
		delete(here, f.Ref())
	}
	for _, f := range server {
		if s := here[f.Ref()]; !prune && s != "" && s != definition.Undeployed {
			list = append(list, f)
		}
	}
	return list
}

// stateOf is the state that the settings of a function tell.
func stateOf(f *definition.Function) definition.State {
	s, _ := definition.StateOf(f.Settings.Deployment, f.Settings.Processing) // Parse has checked that there is one
	return s
}

// compare gives what makes a function, nil for none, what it is to be; nil if it is that already.
func compare(before, wanted *definition.Function) (*Change, error) {
	c := &Change{Ref: wanted.Ref()}
	f := wanted.Clone()
	f.Settings.Deployment, f.Settings.Processing = false, false
	to, from := stateOf(wanted), definition.Undeployed
	if before == nil {
		c.Store = f
	} else {
		from = stateOf(before)
		f.Settings.Deployment, f.Settings.Processing = before.Settings.Deployment, before.Settings.Processing
		var err error
		if c.Diff, err = difference(before, f); err != nil {
			return nil, err
		}
		if c.Diff != "" {
			c.Store = f
			f.MaskUnchanged(before)
		}
	}
	if c.Store != nil {
		if binding := wanted.LacksSecret(before); binding != "" {
			return nil, fmt.Errorf("%s: URL binding %s: its password or key has to be in the file", c.Ref, binding)
		}
	}
	if c.Store != nil && from == definition.Deployed {
		c.Pause = definition.CheckChange(from, before.Masked(), wanted.Masked()) != nil
	}
	if c.Store != nil && from != definition.Undeployed {
		if err := definition.CheckChange(definition.Paused, before.Masked(), wanted.Masked()); err != nil {
			return nil, fmt.Errorf("%w before it is undeployed", err)
		}
	}
	switch {
	case to == definition.Deployed && from == definition.Undeployed:
		c.Then = definition.OpDeploy
	case to == definition.Paused && from == definition.Deployed:
		c.Then = definition.OpPause
		if c.Pause {
			c.Then = ""
		}
	case from == definition.Paused && to == definition.Deployed, c.Pause:
		c.Then = definition.OpResume
	}
	if c.Store == nil && c.Then == "" {
		return nil, nil
	}
	return c, nil
}

// difference tells how the files of two functions differ.
func difference(before, after *definition.Function) (string, error) {
	a, err := fileOf(before)
	if err != nil {
		return "", err
	}
	b, err := fileOf(after)
	if err != nil {
		return "", err
	}
	name := base(after)
	return Diff(string(a)+"\n", string(b)+"\n", name+".json (server)", name+".json") +
		Diff(before.Code, after.Code, name+".js (server)", name+".js"), nil
}
