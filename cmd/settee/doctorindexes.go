package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/settee-db/settee/replication/site"
)

// unusedIndexes asks for the indexes that no query has used for long, of the first databases, and for
// the queries that had none.
func unusedIndexes(ctx context.Context, s *site.Site, now time.Time) (found []finding, err error) {
	var names []string
	if err = s.GetJSON(ctx, fmt.Sprintf("/_all_dbs?limit=%d", databasesAsked), &names); err != nil {
		return nil, err
	}
	designs := 0
	for _, name := range names {
		db := "/" + url.PathEscape(name)
		var uses struct {
			Designs []designUse
			Scans   []scanUse
		}
		if err = s.GetJSON(ctx, db+"/_index_use", &uses); err != nil {
			return nil, err
		}
		found = append(found, judgeScans(name, uses.Scans)...)
		for _, use := range uses.Designs {
			if use.Changed.IsZero() || now.Sub(use.Changed) < unused || designs == designsAsked {
				continue
			}
			designs++
			var doc designIndexes
			if err = s.GetJSON(ctx, db+"/"+use.DDoc, &doc); err != nil {
				return nil, err
			}
			found = append(found, judgeIndexes(name, use, doc, now)...)
		}
	}
	return found, nil
}

// designUse is what GET /db/_index_use says of a design document.
type designUse struct {
	DDoc    string    `json:"ddoc"`
	Changed time.Time `json:"changed"`
	Indexes []struct {
		Type, Name string
		LastUsed   time.Time `json:"last_used"`
	} `json:"indexes"`
}

// designIndexes are the members of a design document whose members are indexes, by the types that
// _index_use has for them.
type designIndexes struct {
	Views   map[string]json.RawMessage `json:"views"`
	Search  map[string]json.RawMessage `json:"indexes"`
	Nouveau map[string]json.RawMessage `json:"nouveau"`
	Auto    map[string]json.RawMessage `json:"auto"`
}

// judgeIndexes names the indexes of a design document that queries have not used for long.
func judgeIndexes(db string, use designUse, doc designIndexes, now time.Time) []finding {
	var idle []string
	for kind, defined := range map[string]map[string]json.RawMessage{
		"view": doc.Views, "search": doc.Search, "nouveau": doc.Nouveau, "auto": doc.Auto,
	} {
		for name := range defined {
			used := false
			for _, ix := range use.Indexes {
				used = used || ix.Type == kind && ix.Name == name && now.Sub(ix.LastUsed) < unused
			}
			// A library of functions is no index.
			if !used && (kind != "view" || name != "lib") {
				idle = append(idle, name)
			}
		}
	}
	if idle == nil {
		return nil
	}
	slices.Sort(idle)
	return []finding{{
		ID: "index_unused", Severity: notice, Subject: db + "/" + use.DDoc, Doc: "docs/views.md#when-indexes-were-used",
		Text: "No query has used " + strings.Join(idle, ", ") + " for 30 days, and each write pays for it.",
		Do:   "Delete what no application asks for once in a while.",
	}}
}

// scanUse is what GET /db/_index_use says of queries that no index served.
type scanUse struct {
	Fields   []string
	Queries  int64
	Examined int64 `json:"docs_examined"`
	Returned int64 `json:"results_returned"`
}

// judgeScans names the fields by which queries of a database look for few of many documents that
// they read.
func judgeScans(db string, scans []scanUse) (found []finding) {
	for _, use := range scans {
		if use.Examined <= scanned*(use.Returned+1) {
			continue
		}
		fields, _ := json.Marshal(use.Fields) // texts
		found = append(found, finding{
			ID: "index_missing", Severity: serious, Subject: db, Doc: "docs/views.md#when-indexes-were-used",
			Text: fmt.Sprintf("Since the start %d queries of _find for the fields %s had no index, and read %d documents "+
				"to return %d.", use.Queries, fields, use.Examined, use.Returned),
			Do: fmt.Sprintf(`Make an index: POST /%s/_index with {"index":{"fields":%s}}, the fields with equality first.`,
				db, fields),
		})
	}
	return found
}

// judgeQueries: what queries of _find have read and returned since the start.
func judgeQueries(examined, returned, unindexed float64) []finding {
	f := finding{
		ID: "queries_scan", Severity: serious, Doc: "docs/mango.md",
		Text: fmt.Sprintf("Since the start queries of _find read %.0f documents to return %.0f; %.0f had no index.",
			examined, returned, unindexed),
		Do: "Ask _explain for the queries of your applications, and make an index for those that read all documents.",
	}
	switch {
	case examined > scanned*(returned+1):
	case unindexed > 0:
		f.Severity = notice
	default:
		return nil
	}
	return []finding{f}
}
