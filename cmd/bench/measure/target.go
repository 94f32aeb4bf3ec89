package measure

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Target is a server under measurement.
type Target struct {
	Name    string // how the report calls it
	Addr    string // host:port
	Auth    string // value of the Authorization header, "" for none
	PID     int    // its main process on this machine, 0 if unknown
	DataDir string // its data directory on this machine, "" if unknown
}

// ParseTarget reads http://user:password@host:port. It finds the process by the port when the host
// is this machine.
func ParseTarget(name, rawURL string) (*Target, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" || u.Hostname() == "" {
		return nil, fmt.Errorf("%q is not a URL of the form http://user:password@host:port", rawURL)
	}
	if strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("%q has a path: name the server, not a database", rawURL)
	}
	t := &Target{Name: name, Addr: u.Host}
	if u.Port() == "" {
		t.Addr = net.JoinHostPort(u.Hostname(), "5984")
	}
	if u.User != nil {
		password, _ := u.User.Password()
		t.Auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
	}
	if isLoopback(u.Hostname()) {
		_, port, _ := net.SplitHostPort(t.Addr)
		pid, err := listeningPID(port)
		if err != nil && !errors.Is(err, errNoProcess) {
			return nil, err
		}
		t.PID = pid
	}
	return t, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
