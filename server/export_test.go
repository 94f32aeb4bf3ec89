package server

import (
	"net/http"

	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/functions"
)

// What tests of whole servers see of their inside.

// Env is what the handlers share.
func (s *Server) Env() *call.Env { return s.env }

// Connections is how many there are.
func (s *Server) Connections() int {
	s.connections.mu.Lock()
	defer s.connections.mu.Unlock()
	return s.connections.count
}

// TLSServer is what answers connections with TLS.
func (s *Server) TLSServer() *http.Server { return s.echo.TLSServer }

// Routes are the rows of all resources.
func Routes() []call.Route { return routes(nil, nil, nil, nil, nil, nil, nil) }

// FunctionRoutes are the rows of event functions.
func FunctionRoutes() []call.Route { return new(functions.Handlers).Routes() }

// CertificateAge is certificateAge.
const CertificateAge = certificateAge

// ForUsers is forUsers.
var ForUsers = forUsers
