package find

import "github.com/settee-db/settee/server/call"

// Routes are the rows of the route table for Mango queries and their indexes.
func (h *Handlers) Routes() []call.Route {
	return []call.Route{
		call.Row("GET", "/{db}/_index", call.Member, h.listIndexes, "Mango indexes."),
		call.Row("POST", "/{db}/_index", call.Member, h.createIndex, "New Mango index."),
		call.Row("POST", "/{db}/_index/_bulk_delete", call.Member, h.bulkDeleteIndexes,
			"Delete several Mango indexes."),
		call.Row("DELETE", "/{db}/_index/{ddoc}/{type}/{name}", call.Member, h.deleteIndex, "Delete a Mango index."),
		call.Row("DELETE", "/{db}/_index/_design/{ddoc}/{type}/{name}", call.Member, h.deleteIndex,
			"Delete a Mango index."),
		call.Row("*", "/{db}/_index/{rest...}", call.Member, call.NotFound,
			"Everything else on indexes is missing.", call.Unlisted),
		call.Row("GET", "/{db}/_index_use", call.Member, h.indexUse,
			"When queries used the indexes last (extension).", call.Reads),
		call.Row("POST", "/{db}/_find", call.Member, h.find, "Mango queries.", call.Heavy|call.Reads).Tail(call.Member),
		call.Row("POST", "/{db}/_distinct", call.Member, h.distinct,
			"The values of a field (extension).", call.Heavy|call.Reads),
		call.Row("POST", "/{db}/_aggregate", call.Member, h.aggregate,
			"Documents in groups, counted and added up (extension).", call.Heavy|call.Reads),
		call.Row("POST", "/{db}/_explain", call.Member, h.explain,
			"Plan of a Mango query.", call.Reads).Tail(call.Member),
	}
}
