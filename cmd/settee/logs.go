package main

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/logging"
)

// logs is the server's log: level, form and writer follow the section log. SIGHUP opens a log file
// anew.
type logs struct {
	log    *slog.Logger
	output *logging.Output
	level  slog.LevelVar
	couch  atomic.Bool
	hangup chan os.Signal

	reopening sync.WaitGroup // ends the goroutine that waits for hangups
}

// newLogs makes a log of a node to stderr, until follow.
func newLogs(stderr io.Writer, node string) *logs {
	l := &logs{output: logging.NewOutput(stderr), hangup: make(chan os.Signal, 1)}
	l.log = slog.New(logging.Format{
		Couch:    logging.NewLines(l.output, &l.level, cmp.Or(node, server.NodeName)),
		Plain:    slog.NewTextHandler(l.output, &slog.HandlerOptions{Level: &l.level}),
		UseCouch: func() bool { return l.couch.Load() || l.output.Framed() },
	})
	return l
}

// follow takes the settings over, now and whenever they change. Where a writer cannot be opened the
// log goes on where it went and says so: a server without its log file is better than none.
func (l *logs) follow(c *config.Config) {
	set := func() {
		l.level.Set(logLevel(c.String("log", "level")))
		l.couch.Store(c.String("log", "format") == "couchdb")
		if err := l.output.Configure(c); err != nil {
			l.log.Error("settings of the log: it goes on where it went", "error", err)
		}
	}
	set()
	c.Subscribe(set)
	signal.Notify(l.hangup, syscall.SIGHUP)
	l.reopening.Go(func() {
		for range l.hangup {
			if err := l.output.Reopen(); err != nil {
				l.log.Error("cannot open the log file anew", "error", errors.Join(err, l.output.Close()))
			}
		}
	})
}

// close closes a log file; what comes later goes to standard error.
func (l *logs) close() {
	signal.Stop(l.hangup)
	close(l.hangup)
	l.reopening.Wait()
	_ = l.output.Close() // there is nowhere left to report an error
}

// commandLog is the log of commands that are no server: where their progress is shown.
func commandLog(progress io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(progress, nil)) }

// logLevel maps CouchDB's levels to slog's.
func logLevel(name string) slog.Level {
	switch name {
	case "debug":
		return slog.LevelDebug
	case "warning", "warn":
		return slog.LevelWarn
	case "error", "err", "critical", "crit", "alert", "emergency", "emerg":
		return slog.LevelError
	case "none":
		return slog.LevelError + 100
	}
	return slog.LevelInfo
}
