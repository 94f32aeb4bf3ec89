package stats

// Recorded are the statistics that the server updates; all others that CouchDB has stay at zero.
type Recorded struct {
	AuthCacheHits   *Counter
	AuthCacheMisses *Counter
	FastHashes      *Counter
	SlowHashes      *Counter

	Requests          *Counter
	BulkRequests      *Counter
	ViewReads         *Counter
	PartitionAllDocs  *Counter
	PartitionViews    *Counter
	PartitionFinds    *Counter
	PartitionExplains *Counter
	PurgeRequests     *Counter
	OpenFeeds         *Counter // a gauge: feeds that wait

	DatabaseReads   *Counter
	DatabaseWrites  *Counter
	DocumentWrites  *Counter
	DocumentInserts *Counter
	LocalWrites     *Counter
	DocumentPurges  *Counter
	DocumentsGone   *Counter // those of them that succeeded
	DatabasePurges  *Counter
	AutoPurges      [4]*Counter // by autopurge.Event
	OpenFiles       *Counter    // a gauge
	Maintenance     *Counter    // a gauge, 1 in maintenance
	Upgrading       *Counter    // a gauge, 1 while [couchdb] upgrade_in_progress is true

	KeysExamined       *Counter
	DocsExamined       *Counter
	QuorumDocsExamined *Counter
	ResultsReturned    *Counter
	UnindexedQueries   *Counter
	EvaluatedSelectors *Counter
	RejectedDocuments  *Counter

	ReplicationRequests           *Counter
	ReplicationResponses          *Counter
	ReplicationResponseFailures   *Counter
	ReplicationCheckpoints        *Counter
	ReplicationCheckpointFailures *Counter
	ReplicationConnectTo          *Counter
	ReplicatorDocChanges          *Counter
	ReplicationJobAdds            *Counter
	ReplicationJobRemoves         *Counter
	ReplicationJobStarts          *Counter
	ReplicationJobStops           *Counter
	ReplicationJobCrashes         *Counter
	ReplicationJobs               *Counter // a gauge
	RunningReplications           *Counter // a gauge, as are the next two
	PendingReplications           *Counter
	CrashedReplications           *Counter

	ActiveSearches *Counter // open searches of _nouveau, a gauge

	RequestTime       *Histogram
	DBInfoTime        *Histogram
	BulkDocs          *Histogram
	QueryTime         *Histogram // of Mango
	SearchTime        *Histogram
	NouveauTime       *Histogram
	NouveauUpdateTime *Histogram
}

// register finds the statistics of Recorded by CouchDB's names.
func (s *Stats) register() {
	s.Recorded = Recorded{
		AuthCacheHits:   s.counter("couchdb.auth_cache_hits"),
		AuthCacheMisses: s.counter("couchdb.auth_cache_misses"),
		FastHashes:      s.counter("couchdb.password_hashing_fast"),
		SlowHashes:      s.counter("couchdb.password_hashing_slow"),

		Requests:          s.counter("couchdb.httpd.requests"),
		BulkRequests:      s.counter("couchdb.httpd.bulk_requests"),
		ViewReads:         s.counter("couchdb.httpd.view_reads"),
		PartitionAllDocs:  s.counter("couchdb.httpd.partition_all_docs_requests"),
		PartitionViews:    s.counter("couchdb.httpd.partition_view_requests"),
		PartitionFinds:    s.counter("couchdb.httpd.partition_find_requests"),
		PartitionExplains: s.counter("couchdb.httpd.partition_explain_requests"),
		PurgeRequests:     s.counter("couchdb.httpd.purge_requests"),
		OpenFeeds:         s.counter("couchdb.httpd.clients_requesting_changes"),

		DatabaseReads:   s.counter("couchdb.database_reads"),
		DatabaseWrites:  s.counter("couchdb.database_writes"),
		DocumentWrites:  s.counter("couchdb.document_writes"),
		DocumentInserts: s.counter("couchdb.document_inserts"),
		LocalWrites:     s.counter("couchdb.local_document_writes"),
		DocumentPurges:  s.counter("couchdb.document_purges.total"),
		DocumentsGone:   s.counter("couchdb.document_purges.success"),
		DatabasePurges:  s.counter("couchdb.database_purges"),
		OpenFiles:       s.counter("couchdb.open_os_files"),
		AutoPurges: [4]*Counter{
			s.counter("auto_purge.start"), s.counter("auto_purge.complete"), s.counter("auto_purge.db_open"),
			s.counter("auto_purge.purge"),
		},
		Maintenance: s.counter("couchdb.maintenance_mode"),
		Upgrading:   s.counter("couchdb.upgrade_in_progress"),

		KeysExamined:       s.counter("mango.keys_examined"),
		DocsExamined:       s.counter("mango.docs_examined"),
		QuorumDocsExamined: s.counter("mango.quorum_docs_examined"),
		ResultsReturned:    s.counter("mango.results_returned"),
		UnindexedQueries:   s.counter("mango.unindexed_queries"),
		EvaluatedSelectors: s.counter("mango.evaluate_selector"),
		RejectedDocuments:  s.counter("couchdb.query_server.vdu_rejects"),

		ReplicationRequests:           s.counter("couch_replicator.requests"),
		ReplicationResponses:          s.counter("couch_replicator.responses.success"),
		ReplicationResponseFailures:   s.counter("couch_replicator.responses.failure"),
		ReplicationCheckpoints:        s.counter("couch_replicator.checkpoints.success"),
		ReplicationCheckpointFailures: s.counter("couch_replicator.checkpoints.failure"),
		ReplicationConnectTo:          s.counter("couch_replicator.connect_to_applied"),
		ReplicatorDocChanges:          s.counter("couch_replicator.docs.db_changes"),
		ReplicationJobAdds:            s.counter("couch_replicator.jobs.adds"),
		ReplicationJobRemoves:         s.counter("couch_replicator.jobs.removes"),
		ReplicationJobStarts:          s.counter("couch_replicator.jobs.starts"),
		ReplicationJobStops:           s.counter("couch_replicator.jobs.stops"),
		ReplicationJobCrashes:         s.counter("couch_replicator.jobs.crashes"),
		ReplicationJobs:               s.counter("couch_replicator.jobs.total"),
		RunningReplications:           s.counter("couch_replicator.jobs.running"),
		PendingReplications:           s.counter("couch_replicator.jobs.pending"),
		CrashedReplications:           s.counter("couch_replicator.jobs.crashed"),

		ActiveSearches: s.counter("nouveau.active_searches"),

		RequestTime:       s.histogram("couchdb.request_time"),
		DBInfoTime:        s.histogram("couchdb.dbinfo"),
		BulkDocs:          s.histogram("couchdb.httpd.bulk_docs"),
		QueryTime:         s.histogram("mango.query_time"),
		SearchTime:        s.histogram("dreyfus.httpd.search"),
		NouveauTime:       s.histogram("nouveau.search_latency"),
		NouveauUpdateTime: s.histogram("nouveau.update_latency"),
	}
	s.workers = s.javaScript()
}

// counter finds a counter or gauge. One that has no name in the list is noted; it counts, and
// nobody sees it.
func (s *Stats) counter(name string) *Counter {
	if st := s.byName[name]; st != nil && st.samples == nil {
		return &st.n
	}
	s.unlisted = append(s.unlisted, name)
	return new(Counter)
}

// histogram finds a histogram, as counter does.
func (s *Stats) histogram(name string) *Histogram {
	if st := s.byName[name]; st != nil && st.samples != nil {
		return st.samples
	}
	s.unlisted = append(s.unlisted, name)
	return new(Histogram)
}
