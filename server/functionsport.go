package server

import (
	"errors"
	"net"
	"net/http"
	"strings"

	"github.com/settee-db/settee/server/functions"
	"github.com/settee-db/settee/server/wire"
)

// managerMount is where Couchbase's cluster manager has what its eventing service has at the root.
const managerMount = "/_p/event"

// newFunctionsServer makes the server of the additional port of event functions (eventing/port):
// what is below functions.Mount elsewhere, without that in the path or with managerMount, so that
// tools for Couchbase find it.
func (s *Server) newFunctionsServer() *http.Server {
	server := &http.Server{Handler: http.HandlerFunc(s.serveFunctions)}
	s.configure(server)
	return server
}

// serveFunctions serves the port of event functions, whose paths are Couchbase's: they are mounted
// below a prefix of this server before its chain sees them.
func (s *Server) serveFunctions(w http.ResponseWriter, r *http.Request) {
	if len(r.RequestURI) > 0 && r.RequestURI[0] == '/' { // else it is no path, and refused as it is
		r.RequestURI = mounted(r.RequestURI)
		r.URL.Path = mounted(r.URL.Path)
		if r.URL.RawPath != "" {
			r.URL.RawPath = mounted(r.URL.RawPath)
		}
	}
	s.echo.ServeHTTP(w, r)
}

// mounted is where a path of the additional port is on the others.
func mounted(path string) string {
	if strings.HasPrefix(path, functions.Mount+"/debugger/") {
		return path // addresses of debug sessions are the same on all ports
	}
	if below, ok := strings.CutPrefix(path, managerMount); ok && strings.HasPrefix(below, "/") {
		path = below
	}
	return functions.Mount + path
}

// ServeFunctions answers requests for event functions on connections of l until Shutdown.
func (s *Server) ServeFunctions(l net.Listener) error {
	err := s.functionsPort.Serve(wire.Listen(s.connections.listen(l, fullAnswer)))
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
