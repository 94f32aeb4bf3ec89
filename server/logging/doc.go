// Package logging writes the server's log: lines in CouchDB's form or slog's, to standard error, a
// file or a syslog server.
//
//	lines.go     CouchDB's lines, and the choice between them and slog's
//	output.go    where lines go; the section log of the configuration
//	file.go      a file, opened anew after logrotate
//	syslog.go    a syslog server
//	limit.go     texts of clients are cut short, so that none fills the log
package logging
