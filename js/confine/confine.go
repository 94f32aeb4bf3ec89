package confine

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Level says how much of the system is taken from workers. Whatever it is, the limits of memory and
// files hold.
type Level string

// The levels. Names are those of the setting.
const (
	// Auto takes all that the system lets a process give up; "" is the same.
	Auto Level = "auto"
	// Required is Auto, and a worker does not start without no_new_privs, the filter of system
	// calls, and, where the server is root, a user of its own.
	Required Level = "required"
	// Off leaves it at limits, for the search of faults.
	Off Level = "off"
)

// ParseLevel reads the name of a level, in lower case.
func ParseLevel(name string) (Level, error) {
	switch level := Level(name); level {
	case "":
		return Auto, nil
	case Auto, Required, Off:
		return level, nil
	}
	return "", fmt.Errorf("js: confinement %q is none of auto, required and off", name)
}

// nobody is the user and group of workers of a server that is root, unless Options say otherwise:
// the kernel's overflow id.
const nobody = 65534

// Options say how workers are started.
type Options struct {
	Level       Level  // Auto if empty
	User, Group int    // of workers where the server is root; 65534 if not positive
	Memory      int64  // bytes that the heap of a worker may have, see Reserved
	Executable  string // the program whose main asks Asked; this one if empty
}

// Reserved is how many writable bytes a worker may have beyond Options.Memory: those that Go's
// runtime maps at its start and mostly leaves untouched.
const Reserved = 96<<20 + detector

// Way is one way to start a worker. A worker that does not come up one way is started the next,
// less confined one.
type Way struct {
	options    Options
	own        bool       // a user of its own
	namespaces namespaces // what it is started in
}

// namespaces are those of a worker: a list of names, or one of the two below.
type namespaces string

const (
	noNamespaces  namespaces = "none"
	tryNamespaces namespaces = "try" // the worker makes them itself
)

// Ways are the ways to start a worker that the level allows, the most confined one first.
func Ways(o Options) []Way {
	if o.Level == "" {
		o.Level = Auto
	}
	if o.User <= 0 {
		o.User = nobody
	}
	if o.Group <= 0 {
		o.Group = nobody
	}
	all := ways(o)
	for i := range all {
		all[i].options = o
	}
	return all
}

// workerFlag is the first argument of a worker; the memory bound in bytes, the level and its
// namespaces follow.
const workerFlag = "--js-worker"

// arguments are those of a worker's process.
func arguments(memory int64, level Level, in namespaces) []string {
	return []string{os.Args[0], workerFlag, strconv.FormatInt(memory, 10), string(level), string(in)}
}

// Start starts a worker with a pipe to its standard input and one from its output, which the caller
// closes, as it waits for the process. Its standard error goes to stderr. That it has started does
// not say that it comes up. May be called concurrently.
func (w Way) Start(stderr io.Writer) (cmd *exec.Cmd, in, out *os.File, err error) {
	executable, err := w.executable()
	if err != nil {
		return nil, nil, nil, err
	}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, nil, nil, err
	}
	defer childOut.Close()
	widen(in)
	widen(out)
	cmd = exec.Command(executable)
	cmd.Args = arguments(w.options.Memory, w.options.Level, w.namespaces)
	cmd.Env = environment()
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, stderr
	cmd.SysProcAttr = w.attributes()
	if err := start(cmd); err != nil {
		in.Close()
		out.Close()
		return nil, nil, nil, fmt.Errorf("js: start of a worker: %w", err)
	}
	return cmd, in, out, nil
}

// executable is the program to start.
func (w Way) executable() (string, error) {
	executable := w.options.Executable
	if executable == "" {
		executable = self
	}
	if _, err := os.Stat(executable); executable == "" || err != nil {
		return os.Executable()
	}
	return executable, nil
}

// environment is empty but for where the system's loader finds the libraries of a binary that needs
// some (the engine fdb).
func environment() []string {
	const loader = "LD_LIBRARY_PATH"
	if path := os.Getenv(loader); path != "" {
		return []string{loader + "=" + path}
	}
	return []string{}
}

// Worker is this process as Way.Start has started it.
type Worker struct {
	Memory     int64 // bytes that its heap may have
	level      Level
	namespaces namespaces
}

// Asked reports whether this process was started as a worker, and as what. It reads the command
// line only.
func Asked() (w Worker, asked bool) {
	if len(os.Args) != 5 || os.Args[1] != workerFlag {
		return Worker{}, false
	}
	memory, err := strconv.ParseInt(os.Args[2], 10, 64)
	if err != nil {
		return Worker{}, false
	}
	return Worker{Memory: memory, level: Level(os.Args[3]), namespaces: namespaces(os.Args[4])}, true
}

// Apart starts this worker again in namespaces of its own where it was asked to, and does not
// return if that succeeds: what is left here passes on its end. A worker calls it first.
func (w Worker) Apart() {
	if w.namespaces == tryNamespaces {
		separate(w)
	}
}

// Confine takes from this process what a worker does not need: memory beyond its bound, files other
// than the three standard ones, core dumps, privileges and most system calls. It cannot be undone.
// It says what confines the process, for the log; an error is that of a system that does not bound
// memory, or lacks what is required. Called once, before the worker reads anything that is not
// trusted.
func (w Worker) Confine() (held string, err error) {
	list := identity(w.namespaces)
	more, err := confine(w.level, w.Memory)
	if err != nil {
		return "", err
	}
	if list = append(list, more...); len(list) == 0 {
		return "nothing", nil
	}
	return strings.Join(list, ", "), nil
}
