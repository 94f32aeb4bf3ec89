package server

import (
	"errors"
	"net"
	"net/http"
	"time"
)

// newMetricsServer makes the server of the additional port of Prometheus (couch_prometheus_http):
// /_node/{node}/_prometheus without a login, whatever the method, and nothing else.
func (s *Server) newMetricsServer() *http.Server {
	server := &http.Server{
		Handler:           http.HandlerFunc(s.admin.ServeMetrics),
		ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	s.connections.follow(server)
	return server
}

// ServeMetrics answers Prometheus on connections of l until Shutdown.
func (s *Server) ServeMetrics(l net.Listener) error {
	if err := s.metricsPort.Serve(s.connections.listen(l, fullAnswer)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
