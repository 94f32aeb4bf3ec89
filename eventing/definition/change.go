package definition

import (
	"reflect"
	"slices"
	"strings"
)

// CheckChange refuses what may not change of a function in a state: nothing while it is on the way
// to another one; of a deployed function only the settings that take effect at once; of a paused
// one all but what its checkpoints depend on.
func CheckChange(s State, before, after *Function) error {
	switch {
	case !s.Settled():
		return Errorf(CodeInvalidRequest, "Function: %s is %s. Try again later", before.Name, s)
	case s == Undeployed:
		return nil
	}
	var refused []string
	if s == Deployed {
		if before.Code != after.Code {
			refused = append(refused, "appcode")
		}
		if !reflect.DeepEqual(before.Bindings, after.Bindings) {
			refused = append(refused, "depcfg")
		}
	} else {
		if before.Bindings.source() != after.Bindings.source() {
			refused = append(refused, "source keyspace")
		}
		if before.Bindings.metadata() != after.Bindings.metadata() {
			refused = append(refused, "metadata keyspace")
		}
	}
	for i := range SettingTable {
		if r := &SettingTable[i]; !r.mayChange(s) && !r.same(&before.Settings, &after.Settings) {
			refused = append(refused, r.Name)
		}
	}
	if refused == nil {
		return nil
	}
	slices.Sort(refused)
	return Errorf(CodeInvalidRequest, "Function: %s is %s: %s cannot be changed", before.Name, s,
		strings.Join(refused, ", "))
}

// mayChange reports whether the setting may change in a settled state. What tells the state is not
// looked at.
func (r *SettingRow) mayChange(s State) bool {
	switch r.change {
	case whileDeployed, byOperations:
		return true
	case whileUndeployed:
		return s == Undeployed
	}
	return s != Deployed
}
