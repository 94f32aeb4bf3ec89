package definition

// State is where a function is in its life.
type State string

// The states. Those that end in -ing are on the way: an engine ends them.
const (
	Undeployed  State = "undeployed"
	Deploying   State = "deploying"
	Deployed    State = "deployed"
	Undeploying State = "undeploying"
	Pausing     State = "pausing"
	Paused      State = "paused"
	Resuming    State = "resuming"
)

// Operation is what a client may ask for. To resume is to deploy a paused function.
type Operation string

// The operations.
const (
	OpDeploy   Operation = "deploy"
	OpUndeploy Operation = "undeploy"
	OpPause    Operation = "pause"
	OpResume   Operation = "resume"
)

// begins has where an operation leads from a settled state.
var begins = map[Operation]map[State]State{
	OpDeploy:   {Undeployed: Deploying, Paused: Resuming},
	OpResume:   {Undeployed: Deploying, Paused: Resuming},
	OpPause:    {Deployed: Pausing},
	OpUndeploy: {Deployed: Undeploying, Paused: Undeploying},
}

// ends has how a state on the way ends: as it was asked for, and as it was before, where that can
// fail.
var ends = map[State][]State{
	Deploying:   {Deployed, Undeployed},
	Resuming:    {Deployed, Paused},
	Pausing:     {Paused},
	Undeploying: {Undeployed},
}

// Settled reports whether the state is not one on the way.
func (s State) Settled() bool { return s == Undeployed || s == Deployed || s == Paused }

// Known reports whether there is such a state.
func (s State) Known() bool { return s.Settled() || len(ends[s]) > 0 }

// Target is the settled state that a state on the way leads to; a settled one is its own.
func (s State) Target() State {
	if to := ends[s]; len(to) > 0 {
		return to[0]
	}
	return s
}

// MayEnd reports whether an engine may end a state on the way so.
func (s State) MayEnd(as State) bool {
	for _, to := range ends[s] {
		if to == as {
			return true
		}
	}
	return false
}

// Begin is the state that an operation begins, or the Error of one that is not possible for the
// function called name.
func (s State) Begin(op Operation, name string) (State, error) {
	if to, ok := begins[op][s]; ok {
		return to, nil
	}
	switch {
	case s == Deployed && (op == OpDeploy || op == OpResume):
		return s, Errorf(CodeAlreadyDeployed, "Function: %s is already deployed", name)
	case s == Paused && op == OpPause:
		return s, Errorf(CodePaused, "Function: %s is already paused", name)
	case s == Undeployed && op == OpUndeploy:
		return s, Errorf(CodeNotDeployed, "Function: %s is not deployed", name)
	}
	return s, Errorf(CodeInvalidRequest, "Function: %s is %s, state transition not possible", name, s)
}

// Statuses is how settings tell a state: by deployment_status and processing_status. A state on the
// way is told as the one that it leads to.
func (s State) Statuses() (deployment, processing bool) {
	switch s.Target() {
	case Deployed:
		return true, true
	case Paused:
		return true, false
	}
	return false, false
}

// StateOf is the settled state that the two statuses in settings ask for.
func StateOf(deployment, processing bool) (State, error) {
	switch {
	case deployment && processing:
		return Deployed, nil
	case deployment:
		return Paused, nil
	case processing:
		return "", Errorf(CodeInvalidConfig, "processing_status must not be true where deployment_status is false")
	}
	return Undeployed, nil
}

// OperationTo is what has to be asked for to come to a settled state.
func OperationTo(s State) Operation {
	switch s {
	case Deployed:
		return OpDeploy
	case Paused:
		return OpPause
	}
	return OpUndeploy
}
