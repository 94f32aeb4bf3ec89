package logging

import (
	"os"
	"path/filepath"
	"time"
)

// fileCheck is how often a log file is compared with what its name stands for now
// (couch_log_writer_file).
const fileCheck = 30 * time.Second

// fileSink appends CouchDB's lines to a file. When the file was moved or removed, by logrotate say,
// a new one is opened: at the next line after fileCheck, or when asked to.
type fileSink struct {
	path    string
	file    *os.File
	info    os.FileInfo
	checked time.Time
}

// openFileSink opens the log for appending.
func openFileSink(path string) (*fileSink, error) {
	s := &fileSink{path: path}
	return s, s.open()
}

// open opens the file for appending, again if somebody has moved it away meanwhile (logrotate). The
// new file is open before the old one is closed, so that no line is lost and a failure leaves the
// old one in use.
func (s *fileSink) open() error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(s.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	old := s.file
	s.file, s.info, s.checked = f, info, time.Now()
	if old != nil {
		return old.Close()
	}
	return nil
}

func (s *fileSink) line(l *logLine) error {
	_, err := s.plain(l.couch(nil))
	return err
}

// plain writes a text as it is. Every now and then it looks whether the file was moved away, by a
// program that rotates logs, and opens a new one then.
func (s *fileSink) plain(p []byte) (int, error) {
	if time.Since(s.checked) > fileCheck {
		s.checked = time.Now()
		if now, err := os.Stat(s.path); err != nil || !os.SameFile(now, s.info) {
			if err := s.open(); err != nil {
				return 0, err
			}
		}
	}
	return s.file.Write(p)
}

func (s *fileSink) reopen() error { return s.open() }
func (s *fileSink) close() error  { return s.file.Close() }
