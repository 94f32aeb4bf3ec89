package lists

import "github.com/settee-db/settee/server/call"

// Routes are the rows of the route table for lists of documents.
func Routes() []call.Route {
	return []call.Route{
		call.Row("GET,HEAD,POST", "/{db}/_all_docs", call.Member, allDocs, "Documents by id.", call.Heavy|call.Reads),
		call.Row("POST", "/{db}/_all_docs/queries", call.Member, allDocsQueries,
			"Several _all_docs queries at once.", call.Heavy|call.Reads),
		call.Row("GET,HEAD,POST", "/{db}/_design_docs", call.Member, allDocs,
			"Design documents by id.", call.Heavy|call.Reads),
		call.Row("POST", "/{db}/_design_docs/queries", call.Member, allDocsQueries,
			"Several _design_docs queries at once.", call.Heavy|call.Reads),
		call.Row("GET,HEAD,POST", "/{db}/_local_docs", call.Member, allDocs,
			"Local documents by id.", call.Heavy|call.Reads),
		call.Row("POST", "/{db}/_local_docs/queries", call.Member, allDocsQueries,
			"Several _local_docs queries at once.", call.Heavy|call.Reads),
		call.Row("GET", "/{db}/_access/{id}", call.DatabaseAdmin, whoSees,
			"Whom each leaf of a document is for (extension).", call.Heavy),
		call.Row("GET", "/{db}/_access/{user}/_all_docs", call.DatabaseAdmin, seenBy,
			"Documents by id, as a user sees them who has the option `roles` (extension).", call.Heavy),
		call.Row("*", "/{db}/_partition", call.Member, partitionIncomplete, "Needs the name of a partition."),
		call.Row("GET", "/{db}/_partition/{partition}", call.Member, getPartition, "Information on a partition."),
		call.Row("POST", "/{db}/_partition/{partition}", call.Member, refusePartitionPost,
			"Refused; looks at the name first.", call.Unlisted),
		call.Row("*", "/{db}/_partition/{partition}/{rest...}", call.Member, inPartition,
			"_all_docs, Mango and views of one partition.", call.Heavy|call.Reads),
	}
}
