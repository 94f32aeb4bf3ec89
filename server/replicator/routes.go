package replicator

import "github.com/settee-db/settee/server/call"

// Routes are the rows of the route table for replications and their scheduler.
func (r *Replications) Routes() []call.Route {
	return []call.Route{
		{
			Methods: "*",
			Pattern: "/_replicate",
			Access:  call.Anyone,
			Handle:  r.postReplicate,
			Doc:     "Transient replications.",
		},
		{Methods: "*", Pattern: "/_replicate/{rest...}", Access: call.SignedIn, Handle: replicatePath, Doc: "Refused."},
		{Methods: "GET,HEAD", Pattern: "/_scheduler/jobs", Access: call.ServerAdmin, Handle: r.getSchedulerJobs,
			Doc: "Running replications."},
		{Methods: "GET,HEAD", Pattern: "/_scheduler/jobs/{job}", Access: call.ServerAdmin, Handle: r.getSchedulerJob,
			Doc: "One running replication."},
		{Methods: "GET,HEAD", Pattern: "/_scheduler/docs", Access: call.ServerAdmin, Handle: r.getSchedulerDocs,
			Doc: "States of replication documents."},
		{
			Methods: "GET,HEAD",
			Pattern: "/_scheduler/docs/{path...}",
			Access:  call.ServerAdmin,
			Handle:  r.getSchedulerDocs,
			Doc:     "States of the documents of one replicator database, or of one document.",
		},
		{Methods: "*", Pattern: "/_scheduler", Access: call.ServerAdmin, Handle: schedulerUnknown,
			Doc: "Everything else about the scheduler is missing."},
		{Methods: "*", Pattern: "/_scheduler/{rest...}", Access: call.ServerAdmin, Handle: schedulerUnknown,
			Doc: "Everything else about the scheduler is missing."},
	}
}
