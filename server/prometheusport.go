package server

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/settee-db/settee/compat/ejson"
)

// newMetricsServer makes the server of the additional port of Prometheus (couch_prometheus_http): /_node/{node}/_prometheus
// without a login, whatever the method, and nothing else.
func (s *Server) newMetricsServer() *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(s.serveMetrics), ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
}

// ServeMetrics answers Prometheus on connections of l until Shutdown.
func (s *Server) ServeMetrics(l net.Listener) error {
	if err := s.metricsPort.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	w.Header()["Server"] = serverValue
	status, kind, body := http.StatusOK, "application/json", []byte(nil)
	segments := strings.FieldsFunc(r.URL.Path, func(c rune) bool { return c == '/' })
	switch {
	case len(segments) != 3 || segments[0] != "_node" || segments[2] != "_prometheus":
		status, body = http.StatusNotFound, []byte(`{"error":"not_found","reason":""}`)
	case segments[1] != "_local" && segments[1] != s.node:
		status = http.StatusInternalServerError
		body = append(ejson.AppendString([]byte(`{"error":"server_error","reason":`), `throw:{not_found,<<"no such node: `+segments[1]+`">>}`), '}')
	default:
		text, err := s.prometheusText()
		if err != nil {
			s.log.Error("metrics", "error", err)
			status, body = http.StatusInternalServerError, []byte(`{"error":"server_error","reason":""}`)
			break
		}
		kind, body = prometheusType, text
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the reader may be gone
}
