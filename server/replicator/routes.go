package replicator

import "github.com/settee-db/settee/server/call"

// Routes are the rows of the route table for replications and their scheduler.
func (r *Replications) Routes() []call.Route {
	return []call.Route{
		call.Row("*", "/_replicate", call.Anyone, r.postReplicate, "Transient replications."),
		call.Row("*", "/_replicate/{rest...}", call.SignedIn, replicatePath, "Refused."),
		call.Row("GET,HEAD", "/_scheduler/jobs", call.ServerAdmin, r.getSchedulerJobs, "Running replications."),
		call.Row("GET,HEAD", "/_scheduler/jobs/{job}", call.ServerAdmin, r.getSchedulerJob, "One running replication."),
		call.Row("GET,HEAD", "/_scheduler/docs", call.ServerAdmin, r.getSchedulerDocs,
			"States of replication documents."),
		call.Row("GET,HEAD", "/_scheduler/docs/{path...}", call.ServerAdmin, r.getSchedulerDocs,
			"States of the documents of one replicator database, or of one document."),
		call.Row("*", "/_scheduler", call.ServerAdmin, schedulerUnknown,
			"Everything else about the scheduler is missing."),
		call.Row("*", "/_scheduler/{rest...}", call.ServerAdmin, schedulerUnknown,
			"Everything else about the scheduler is missing."),
	}
}
