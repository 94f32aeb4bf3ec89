package pebblekv

import (
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
)

// logger takes Pebble's log lines to slog. Fatal errors end the store's writing, not the process.
type logger struct {
	log   *slog.Logger
	fatal func(error)
}

var _ pebble.Logger = (*logger)(nil)

// Infof implements pebble.Logger. Pebble's informational lines are about its own files: debug level
// for settee.
func (l *logger) Infof(format string, args ...any) {
	l.log.Debug("pebble", "msg", fmt.Sprintf(format, args...))
}

// Errorf implements pebble.Logger.
func (l *logger) Errorf(format string, args ...any) {
	l.log.Error("pebble", "msg", fmt.Sprintf(format, args...))
}

// Fatalf implements pebble.Logger. Pebble calls it when it cannot go on (its manifest cannot be
// written) and relies on it not to return. Ending the process would take the readers along, whose
// files are intact: so the goroutine stops here for good, and the store refuses writes from now on.
func (l *logger) Fatalf(format string, args ...any) {
	l.fatal(fmt.Errorf("pebblekv: "+format, args...))
	select {}
}
