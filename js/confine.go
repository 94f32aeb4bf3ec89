package js

import (
	"fmt"
	"strings"
)

// Confinement says how much of the system is taken from workers. Whatever it is, the limits of confine hold.
type Confinement string

// The confinements. Names are those of the setting.
const (
	// ConfineAuto takes all that the system lets a process give up; "" is the same.
	ConfineAuto Confinement = "auto"
	// ConfineRequired is ConfineAuto, and a worker does not start without no_new_privs, the filter of system calls,
	// and, where the server is root, a user of its own.
	ConfineRequired Confinement = "required"
	// ConfineOff leaves it at limits, for the search of faults.
	ConfineOff Confinement = "off"
)

// ParseConfinement reads the name of a confinement.
func ParseConfinement(name string) (Confinement, error) {
	switch c := Confinement(name); c {
	case "":
		return ConfineAuto, nil
	case ConfineAuto, ConfineRequired, ConfineOff:
		return c, nil
	}
	return "", fmt.Errorf("js: confinement %q is none of auto, required and off", name)
}

// nobody is the user and group of workers of a server that is root, unless Options say otherwise: the kernel's overflow
// id.
const nobody = 65534

// attempt is one way to start a worker. A worker that does not come up one way is started the next, less confined one.
type attempt struct {
	own        bool       // a user of its own
	namespaces namespaces // what it is started in
}

// namespaces are those of a worker: a list of names, or one of the two below.
type namespaces string

const (
	noNamespaces  namespaces = "none"
	tryNamespaces namespaces = "try" // the worker makes them itself
)

// holds is what confines a worker, for the log.
type holds []string

// String lists it.
func (h holds) String() string {
	if len(h) == 0 {
		return "nothing"
	}
	return strings.Join(h, ", ")
}
