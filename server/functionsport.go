package server

import (
	"errors"
	"net"
	"net/http"

	"github.com/settee-db/settee/server/functions"
	"github.com/settee-db/settee/server/functionspage"
	"github.com/settee-db/settee/server/wire"
)

// newFunctionsServer makes the server of the additional port of event functions (eventing/port): what is below
// functions.Mount elsewhere, without that in the path, so that tools for Couchbase's eventing service find it.
func (s *Server) newFunctionsServer() *http.Server {
	server := &http.Server{Handler: http.HandlerFunc(s.serveFunctions)}
	s.configure(server)
	return server
}

func (s *Server) serveFunctions(w http.ResponseWriter, r *http.Request) {
	if len(r.RequestURI) > 0 && r.RequestURI[0] == '/' { // else it is no path, and refused as it is
		r.RequestURI = functions.Mount + r.RequestURI
		r.URL.Path = functions.Mount + r.URL.Path
		if r.URL.RawPath != "" {
			r.URL.RawPath = functions.Mount + r.URL.RawPath
		}
	}
	s.echo.ServeHTTP(w, functionspage.Hide(r)) // it logs in at paths that are not here
}

// ServeFunctions answers requests for event functions on connections of l until Shutdown.
func (s *Server) ServeFunctions(l net.Listener) error {
	err := s.functionsPort.Serve(wire.Listen(s.connections.listen(l, fullAnswer)))
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
