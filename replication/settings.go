package replication

import (
	"crypto/tls"
	"time"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/tracing"
)

// Settings are the configuration of replications: the section replicator, and what else of the
// server counts. They are values of one moment; the functions may be called at any time.
type Settings struct {
	// Of the server (couchdb/uuid), part of every replication id of version 3 and 4: copied to
	// another server, a document begins at the beginning.
	UUID     string
	HostName string // part of the ids of versions 1 and 2
	Port     int    // httpd/port, part of the ids of version 2

	// Defaults of options.
	WorkerProcesses    int
	BatchSize          int
	Connections        int
	Timeout            time.Duration // connection_timeout
	Retries            int
	UseCheckpoints     bool
	UseBulkGet         bool
	CheckpointInterval time.Duration

	EndpointProtocols []string
	ProxyProtocols    []string
	MaxDocumentIDSize int           // bytes, 0 for any
	MissingDocRetry   time.Duration // wait before a revision that was announced but not found is asked for again
	RequestTimeout    time.Duration // of a whole request other than _changes, 0 for none
	SessionAuth       bool          // try _session before Basic
	SessionRefresh    time.Duration // of cookies without Max-Age
	// TLS is for https endpoints, asked for each request; nil: the library's. Connections go on being
	// used while it is the same pointer.
	TLS       func() *tls.Config
	ConnectTo func() Routes // asked for each connection, nil: none
	Guard     *Guard        // nil: any address

	// Tracer has a trace for each batch, and for each request that belongs to none; nil: nobody.
	Tracer *tracing.Tracer

	// Scheduler.
	// How many run at once, how many at most make room for others in one Interval, and how many
	// events of each are remembered.
	MaxJobs       int
	MaxChurn      int
	MaxHistory    int
	Interval      time.Duration
	StartupJitter time.Duration
	// A job that ran for so long is healthy: its earlier crashes are forgotten. Half of it is how
	// long failing requests are repeated.
	HealthThreshold time.Duration
	Shared          bool // several processes have the store: ids of replications do not depend on where each listens
	UpdateDocs      bool // write triggered and error into replicator documents

	// NormalizeSelector gives a Mango selector's normal form as JSON.
	NormalizeSelector func(ejson.Value) ([]byte, error)
	// Memory begins a share of the memory that large answers of peers take together; nil: there is
	// no bound.
	Memory func() Share
	// Counters are moved as replications run.
	Counters Counters
}

// BackdoorPort is CouchDB's httpd/port, which nothing listens on any more; ids of version 2 still
// hold it.
const BackdoorPort = 5986

// DefaultSettings are CouchDB's defaults.
func DefaultSettings() Settings {
	return Settings{
		Port:            BackdoorPort,
		WorkerProcesses: 4, BatchSize: 500, Connections: 20, Timeout: 30 * time.Second, Retries: 5,
		UseCheckpoints: true, UseBulkGet: true, CheckpointInterval: 30 * time.Second,
		EndpointProtocols: []string{"http", "https"}, ProxyProtocols: []string{"http", "https", "socks5"},
		MissingDocRetry: 2 * time.Second, SessionAuth: true, SessionRefresh: 550 * time.Second,
		MaxJobs: 500, MaxChurn: 20, MaxHistory: 20, Interval: time.Minute,
		StartupJitter: 5 * time.Second, HealthThreshold: 2 * time.Minute,
		NormalizeSelector: func(v ejson.Value) ([]byte, error) { return v.AppendJSON(nil), nil },
	}
}
