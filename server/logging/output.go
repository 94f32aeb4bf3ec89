package logging

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/config"
)

// logLine is a line of the log before its writer has given it a form.
type logLine struct {
	level   slog.Level
	time    time.Time
	node    string
	request string // id of the request, -------- without one
	text    string // without line feeds
}

// logSink is where lines go, in its own form. Calls are one at a time.
type logSink interface {
	line(l *logLine) error
	// plain takes lines of another form (log/format).
	plain(p []byte) (int, error)
	reopen() error
	close() error
}

// Output is where the log goes: log/writer with its settings, followed when they change. It starts
// with standard error.
type Output struct {
	stderr io.Writer

	mu     sync.Mutex
	sink   logSink
	chosen string // the settings that sink was made from
	limit  int64
	framed atomic.Bool // the writer has its own form of lines
}

// NewOutput makes an output to stderr.
func NewOutput(stderr io.Writer) *Output {
	return &Output{stderr: stderr, sink: &streamSink{stderr}, limit: defaultMessageSize}
}

// defaultMessageSize is that of log/max_message_size.
const defaultMessageSize = 16000

// Configure follows the settings of the section log. When a writer cannot be opened the log goes on
// where it went.
func (o *Output) Configure(c *config.Config) error {
	set := make([]string, len(writerKeys))
	for i, key := range writerKeys {
		set[i] = c.String("log", key)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.limit = c.Int("log", "max_message_size", 0)
	chosen := strings.Join(set, "\x00")
	if chosen == o.chosen {
		return nil
	}
	sink, framed, err := openSink(c, o.stderr)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	old := o.sink
	o.sink, o.chosen = sink, chosen
	o.framed.Store(framed)
	return old.close()
}

// writerKeys are the settings that a writer depends on.
var writerKeys = []string{"writer", "file", "syslog_host", "syslog_port", "syslog_appid", "syslog_facility"}

// openSink makes the writer that log/writer names: stderr, file, syslog or journald; framed ones
// have one form of lines only.
func openSink(c *config.Config, stderr io.Writer) (sink logSink, framed bool, err error) {
	switch name := c.String("log", "writer"); name {
	case "stderr", "":
		return &streamSink{stderr}, false, nil
	case "journald":
		return &journalSink{stderr}, true, nil
	case "file":
		sink, err = openFileSink(c.String("log", "file"))
		return sink, false, err
	case "syslog":
		return newSyslogSink(c, stderr), true, nil
	default:
		return nil, false, errors.New("unknown writer " + strconv.Quote(name))
	}
}

// Framed reports whether the writer has its own form of lines, so that log/format does not matter.
func (o *Output) Framed() bool { return o.framed.Load() }

// Write implements io.Writer, for lines in another form than CouchDB's.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sink.plain(p)
}

// line writes a line in the writer's form.
func (o *Output) line(l *logLine) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.limit > 0 && int64(len(l.text)) > o.limit {
		l.text = l.text[:o.limit]
	}
	return o.sink.line(l)
}

// Reopen opens a log file anew, after it was moved away.
func (o *Output) Reopen() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sink.reopen()
}

// Close closes a log file; later lines go to standard error.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	old := o.sink
	o.sink, o.chosen = &streamSink{o.stderr}, ""
	o.framed.Store(false)
	return old.close()
}

// streamSink writes CouchDB's lines to a stream (couch_log_writer_stderr).
type streamSink struct{ out io.Writer }

func (s *streamSink) line(l *logLine) error {
	_, err := s.out.Write(l.couch(nil))
	return err
}

func (s *streamSink) plain(p []byte) (int, error) { return s.out.Write(p) }
func (*streamSink) reopen() error                 { return nil }
func (*streamSink) close() error                  { return nil }

// couch is CouchDB's usual form: [level] time node <pid> request message. There are no Erlang
// processes: the pid is always the same.
func (l *logLine) couch(b []byte) []byte {
	b = append(append(append(b, '['), couchLevels[l.level]...), "] "...)
	b = l.time.UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z")
	b = append(append(append(b, ' '), l.node...), " <0.1.0> "...)
	b = append(append(append(b, l.request...), ' '), l.text...)
	return append(b, '\n')
}

// journalSink writes to standard error what journald understands: a priority, no time
// (couch_log_writer_journald).
type journalSink struct{ out io.Writer }

// line has the severity in front, as journald reads it, and no time: the journal has its own.
func (s *journalSink) line(l *logLine) error {
	_, err := fmt.Fprintf(s.out, "<%d>%s <0.1.0> %s %s\n", severity(l.level), l.node, l.request, l.text)
	return err
}

func (s *journalSink) plain(p []byte) (int, error) { return s.out.Write(p) }
func (*journalSink) reopen() error                 { return nil }
func (*journalSink) close() error                  { return nil }

// severity is syslog's number of a level; requests are notices.
func severity(level slog.Level) int {
	switch {
	case level >= slog.LevelError:
		return 3
	case level >= slog.LevelWarn:
		return 4
	case level >= slog.LevelInfo:
		return 5
	}
	return 7
}
