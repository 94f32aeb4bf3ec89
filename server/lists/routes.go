package lists

import "github.com/settee-db/settee/server/call"

// Routes are the rows of the route table for lists of documents.
func Routes() []call.Route {
	return []call.Route{
		{Methods: "GET,HEAD,POST", Pattern: "/{db}/_all_docs", Access: call.Member, Handle: allDocs, Heavy: true,
			Reads: true, Doc: "Documents by id."},
		{Methods: "POST", Pattern: "/{db}/_all_docs/queries", Access: call.Member, Handle: allDocsQueries, Heavy: true,
			Reads: true, Doc: "Several _all_docs queries at once."},
		{Methods: "GET,HEAD,POST", Pattern: "/{db}/_design_docs", Access: call.Member, Handle: allDocs, Heavy: true,
			Reads: true, Doc: "Design documents by id."},
		{
			Methods: "POST",
			Pattern: "/{db}/_design_docs/queries",
			Access:  call.Member,
			Reads:   true,
			Handle:  allDocsQueries,
			Heavy:   true,
			Doc:     "Several _design_docs queries at once.",
		},
		{Methods: "GET,HEAD,POST", Pattern: "/{db}/_local_docs", Access: call.Member, Handle: allDocs, Heavy: true,
			Reads: true, Doc: "Local documents by id."},
		{
			Methods: "POST",
			Pattern: "/{db}/_local_docs/queries",
			Access:  call.Member,
			Reads:   true,
			Handle:  allDocsQueries,
			Heavy:   true,
			Doc:     "Several _local_docs queries at once.",
		},
		{Methods: "*", Pattern: "/{db}/_partition", Access: call.Member, Handle: partitionIncomplete,
			Doc: "Needs the name of a partition."},
		{Methods: "GET", Pattern: "/{db}/_partition/{partition}", Access: call.Member, Handle: getPartition,
			Doc: "Information on a partition."},
		{
			Methods:  "POST",
			Pattern:  "/{db}/_partition/{partition}",
			Access:   call.Member,
			Handle:   refusePartitionPost,
			Unlisted: true,
			Doc:      "Refused; looks at the name first.",
		},
		{
			Methods: "*",
			Pattern: "/{db}/_partition/{partition}/{rest...}",
			Access:  call.Member,
			Reads:   true,
			Handle:  inPartition,
			Heavy:   true,
			Doc:     "_all_docs, Mango and views of one partition.",
		},
	}
}
