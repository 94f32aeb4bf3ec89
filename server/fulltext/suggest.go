package fulltext

import (
	"context"
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
	engine "github.com/settee-db/settee/search"
	"github.com/settee-db/settee/search/index"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/server/call"
)

// searchSuggest serves GET …/_search_suggest/{index}, an extension: the terms of a field that begin
// with what somebody has typed, or that it may have been meant to be.
func (h *Handlers) searchSuggest(c *call.Call) error { return h.suggest(c, segment.Clouseau) }

// nouveauSuggest serves GET …/_nouveau_suggest/{index}.
func (h *Handlers) nouveauSuggest(c *call.Call) error { return h.suggest(c, segment.Nouveau) }

// suggest answers with terms of an index that begin like a text or are spelt nearly like it.
// CouchDB has no such request. Faults of the options are told before a missing index, as for
// searches, and the index is first brought up to date unless the client takes it as it is.
func (h *Handlers) suggest(c *call.Call, kind segment.Kind) error {
	if err := h.available(c); err != nil {
		return err
	}
	def, missing, err := h.lookup(c, kind)
	if err != nil {
		return err
	}
	partitioned, err := c.DB.Settings().Partitioned(c.Context())
	if err != nil {
		return err
	}
	// The order of the checks is that of _search: options, partition, and only then whether there
	// is the index.
	o, err := parseSuggest(c.Query, limitsOf(c, false).Max)
	if err == nil && kind == segment.Clouseau {
		err = checkPartition(o.Partition != nil, partitioned, def.Partitioned)
	}
	if err == nil {
		err = missing
	}
	if err != nil {
		return err
	}
	if !o.AsItIs {
		if err := h.indexes.Update(c.Context(), c.DB, def); err != nil {
			return err
		}
	}
	return h.searching(c, def, func(ctx context.Context, s *engine.Searcher) error {
		list, err := s.Suggest(ctx, &index.SuggestRequest{Field: o.Field, Text: s.Normalize(o.Field, o.Text),
			Near: o.Near, Edits: o.Edits, Partition: o.Partition, Limit: o.Limit})
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, appendSuggestions(list, o.Near))
	})
}

// appendSuggestions prints suggestions; how far they are from the text only where that was asked
// for.
func appendSuggestions(list []index.Suggestion, near bool) []byte {
	b := []byte(`{"suggestions":[`)
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = ejson.AppendString(append(b, `{"term":`...), s.Term)
		b = strconv.AppendInt(append(b, `,"docs":`...), s.Docs, 10)
		if near {
			b = strconv.AppendInt(append(b, `,"edits":`...), int64(s.Edits), 10)
		}
		b = append(b, '}')
	}
	return append(b, "]}"...)
}
