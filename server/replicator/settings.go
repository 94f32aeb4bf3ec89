package replicator

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/server/call"
)

// replicatorSettings reads the section replicator. What cannot be read is an error of every
// replication that needs it.
func replicatorSettings(e *call.Env) *replication.Settings {
	c := e.Config
	const section = "replicator"
	n := func(key string) int { return int(min(c.Int(section, key, math.MaxInt32), math.MaxInt32)) }
	ms := func(key string) time.Duration { return time.Duration(n(key)) * time.Millisecond }
	set := replication.DefaultSettings()
	set.UUID = e.UUID()
	set.HostName, _ = os.Hostname()
	set.Port = int(c.Int("httpd", "port", 0))
	if set.Port == 0 {
		set.Port = replication.BackdoorPort
	}
	set.WorkerProcesses = max(n("worker_processes"), 1)
	set.BatchSize = max(n("worker_batch_size"), 1)
	set.Connections = max(n("http_connections"), 1)
	set.Timeout = max(ms("connection_timeout"), time.Millisecond)
	set.CheckpointInterval = max(ms("checkpoint_interval"), time.Millisecond)
	set.Retries = n("retries_per_request")
	set.UseCheckpoints = c.Bool(section, "use_checkpoints")
	set.UseBulkGet = c.Bool(section, "use_bulk_get")
	set.UpdateDocs = c.Bool(section, "update_docs")
	set.EndpointProtocols = call.SplitList(c.String(section, "valid_endpoint_protocols"))
	set.ProxyProtocols = call.SplitList(c.String(section, "valid_proxy_protocols"))
	set.MaxDocumentIDSize = int(c.Int(section, "max_document_id_length", 0))
	set.MissingDocRetry = ms("missing_doc_retry_msec")
	set.RequestTimeout = time.Duration(c.Int(section, "request_timeout", 0)) * time.Millisecond
	set.SessionAuth = strings.Contains(c.String(section, "auth_plugins"), "couch_replicator_auth_session")
	set.SessionRefresh = time.Duration(n("session_refresh_interval_sec")) * time.Second
	set.MaxJobs, set.MaxChurn, set.MaxHistory = n("max_jobs"), n("max_churn"), n("max_history")
	set.Interval, set.StartupJitter = ms("interval"), ms("startup_jitter")
	set.HealthThreshold = time.Duration(n("health_threshold")) * time.Second
	set.NormalizeSelector = normalizeSelector
	set.Memory = func() replication.Share { return memory.NewShare(e.Bodies, replicationUser) }
	set.Counters = counters(e)
	set.Tracer = e.Tracer
	allowed, denied := c.String(section, "allowed_networks"), c.String(section, "denied_networks")
	var err error
	if set.Guard, err = replication.ParseGuard(allowed, denied); err != nil {
		e.Log.Error("no replication may connect: the lists of networks cannot be read", "error", err)
		set.Guard = replication.NoNetworks()
	}
	trust := &trustFiles{config: c}
	if err := trust.read(); err != nil {
		e.Log.Error("https replications: settings of TLS cannot be used", "error", err)
	}
	set.TLS = trust.current
	set.ConnectTo = func() replication.Routes {
		routes, _ := replication.ParseRoutes(c.String(section, "connect_to"))
		return routes
	}
	if _, bad := replication.ParseRoutes(c.String(section, "connect_to")); len(bad) > 0 {
		e.Log.Warn("entries of connect_to that are not HOST:PORT:TARGET:TARGET_PORT are left out", "entries", bad)
	}
	return &set
}

// counters are the statistics that replications move.
func counters(e *call.Env) replication.Counters {
	return replication.Counters{
		Requests:           replication.Counter{To: e.Stats.ReplicationRequests},
		Responses:          replication.Counter{To: e.Stats.ReplicationResponses},
		ResponseFailures:   replication.Counter{To: e.Stats.ReplicationResponseFailures},
		ConnectTo:          replication.Counter{To: e.Stats.ReplicationConnectTo},
		Checkpoints:        replication.Counter{To: e.Stats.ReplicationCheckpoints},
		CheckpointFailures: replication.Counter{To: e.Stats.ReplicationCheckpointFailures},
		DocumentChanges:    replication.Counter{To: e.Stats.ReplicatorDocChanges},
		JobAdds:            replication.Counter{To: e.Stats.ReplicationJobAdds},
		JobRemoves:         replication.Counter{To: e.Stats.ReplicationJobRemoves},
		JobStarts:          replication.Counter{To: e.Stats.ReplicationJobStarts},
		JobStops:           replication.Counter{To: e.Stats.ReplicationJobStops},
		JobCrashes:         replication.Counter{To: e.Stats.ReplicationJobCrashes},
		Jobs:               replication.Counter{To: e.Stats.ReplicationJobs},
		JobsRunning:        replication.Counter{To: e.Stats.RunningReplications},
		JobsPending:        replication.Counter{To: e.Stats.PendingReplications},
		JobsCrashed:        replication.Counter{To: e.Stats.CrashedReplications},
	}
}

// normalizeSelector is Mango's normal form, which CouchDB hashes for the id of a replication.
func normalizeSelector(v ejson.Value) ([]byte, error) {
	s, err := selector.ParseSelector(v)
	if err != nil {
		return nil, err
	}
	return s.AppendJSON(nil), nil
}

// replicatorTLS are the settings of connections to https endpoints. As in CouchDB certificates are
// not verified unless verify_ssl_certificates says so.
func replicatorTLS(c *config.Config) (*tls.Config, error) {
	const section = "replicator"
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	cert, key := c.String(section, "cert_file"), c.String(section, "key_file")
	if cert != "" && key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("cert_file: %w", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	if !c.Bool(section, "verify_ssl_certificates") {
		t.InsecureSkipVerify = true // CouchDB's default; docs/security.md tells
		return t, nil
	}
	if file := c.String(section, "ssl_trusted_certificates_file"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("ssl_trusted_certificates_file: %w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("ssl_trusted_certificates_file: no certificate in it")
		}
	}
	depth := int(c.Int(section, "ssl_certificate_max_depth", math.MaxInt32))
	t.VerifyConnection = func(state tls.ConnectionState) error {
		// A chain holds the peer's certificate, the root and those between, which the depth counts.
		if slices.ContainsFunc(state.VerifiedChains,
			func(chain []*x509.Certificate) bool { return len(chain)-2 <= depth }) {
			return nil
		}
		return errors.New("the chain of certificates is longer than ssl_certificate_max_depth")
	}
	return t, nil
}

// replicationUser is whom the memory of replications' answers is counted to: no user is called like
// that.
const replicationUser = "\x00replications"
