package logging

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/settee-db/settee/config"
)

// syslogSink sends lines to a syslog server over UDP, in the form of RFC 5424
// (couch_log_writer_syslog). Without a server they go to standard error in that form.
type syslogSink struct {
	out      io.Writer
	conn     net.Conn // nil without a server
	host     string   // this one
	appid    string
	facility int
}

// newSyslogSink sends to a syslog server by UDP, or writes to stderr where no server is named. The
// name of this host is part of each line and is left empty if the system does not tell it.
func newSyslogSink(c *config.Config, stderr io.Writer) *syslogSink {
	s := &syslogSink{
		out:      stderr,
		appid:    c.String("log", "syslog_appid"),
		facility: syslogFacility(c.String("log", "syslog_facility")),
	}
	if name, err := os.Hostname(); err == nil {
		s.host = name
	}
	if host := c.String("log", "syslog_host"); host != "" {
		// An address that cannot be resolved is none, as in couch_log_writer_syslog:init.
		if conn, err := net.Dial("udp", net.JoinHostPort(host, c.String("log", "syslog_port"))); err == nil {
			s.conn, s.out = conn, conn
		}
	}
	return s
}

// line is a message of RFC 5424, of which the process and the request take the places of PROCID and
// MSGID.
func (s *syslogSink) line(l *logLine) error {
	priority := s.facility<<3 | severity(l.level)
	at := l.time.UTC().Format("2006-01-02T15:04:05.000000Z")
	_, err := fmt.Fprintf(s.out, "<%d>1 %s %s %s <0.1.0> %s - %s\n",
		priority, at, s.host, s.appid, l.request, l.text)
	return err
}

func (s *syslogSink) plain(p []byte) (int, error) { return s.out.Write(p) }
func (*syslogSink) reopen() error                 { return nil }

func (s *syslogSink) close() error {
	if s.conn == nil {
		return nil
	}
	return s.conn.Close()
}

// syslogFacilities are in the order of their numbers.
var syslogFacilities = []string{
	"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "clock", "authpriv", "ftp", "ntp", "audit", "alert", "cron",
	"local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
}

// syslogFacility is the number of a facility, by name or number; what is neither is local7.
func syslogFacility(name string) int {
	for i, known := range syslogFacilities {
		if name == known {
			return i
		}
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < len(syslogFacilities) {
		return n
	}
	return len(syslogFacilities) - 1
}
