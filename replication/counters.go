package replication

// Counters are what CouchDB counts of replications. What nobody counts is left at its zero value.
type Counters struct {
	Requests, Responses, ResponseFailures Counter // over HTTP, to and from peers
	Checkpoints, CheckpointFailures       Counter
	ConnectTo                             Counter // requests that went to another address than that of their URL
	DocumentChanges                       Counter // in replicator databases
	JobAdds, JobRemoves                   Counter
	JobStarts, JobStops, JobCrashes       Counter
	Jobs                                  Counter // a gauge
	JobsRunning, JobsPending, JobsCrashed Counter // gauges; a job that waits after a crash is not pending
}

// Counter is a number that moves.
type Counter struct {
	// To has the number; nil if nobody counts.
	To interface{ Add(n int64) }
}

func (c Counter) add(n int64) {
	if c.To != nil {
		c.To.Add(n)
	}
}
