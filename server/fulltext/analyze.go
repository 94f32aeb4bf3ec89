package fulltext

import (
	"fmt"
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/search/analysis"
	"github.com/settee-db/settee/server/call"
)

// maxAnalyzed is the longest text that these endpoints take. They are for trying out analyzers; the
// terms of a text are in memory together, and are many times as large as it is.
const maxAnalyzed = 1 << 20

var (
	errAnalyzerMissing = compat.NewError(compat.KindBadRequest, "analyzer parameter is mandatory")
	errAnalyzerKind    = compat.NewError(compat.KindBadRequest, "analyzer parameter must be a string or an object")
	errTextMissing     = compat.NewError(compat.KindBadRequest, "text parameter is mandatory")
	errTextKind        = compat.NewError(compat.KindBadRequest, "text parameter must be a string")
	errTextLong        = compat.NewError(compat.KindBadRequest,
		fmt.Sprintf("text parameter must not be longer than %d bytes", maxAnalyzed))
	errNouveauKinds = compat.NewError(compat.KindBadRequest,
		"'text' and 'analyzer' fields must be non-empty strings")
)

// searchAnalyze serves GET and POST /_search_analyze (dreyfus_httpd:handle_analyze_req/1). An
// object as analyzer, which CouchDB means to take and garbles, works here.
func searchAnalyze(c *call.Call) error {
	if c.MethodName() != http.MethodPost {
		name, ok := c.Query.First("analyzer")
		if !ok {
			return errAnalyzerMissing
		}
		text, ok := c.Query.First("text")
		if !ok {
			return errTextMissing
		}
		a, err := analysis.Lookup(analysis.Clouseau, name)
		if err != nil {
			return noSuchAnalyzer(c)
		}
		return answerTokens(c, a, text)
	}
	body, err := c.JSONRequest()
	if err != nil {
		return err
	}
	definition, ok := body.Get("analyzer")
	if !ok {
		return errAnalyzerMissing
	}
	// An object without members, and what is neither text nor object, are refused alike.
	_, members := definition.Count()
	if definition.Kind() != ejson.String && members == 0 {
		return errAnalyzerKind
	}
	text, ok := body.Get("text")
	if !ok {
		return errTextMissing
	}
	if text.Kind() != ejson.String {
		return errTextKind
	}
	set, err := analysis.ClouseauSet(definition)
	if err != nil {
		return noSuchAnalyzer(c)
	}
	return answerTokens(c, set.For("default"), text.Text())
}

// noSuchAnalyzer is CouchDB's answer to an error for which it has no clause. It is no crash, so it
// lacks the member ref that KindUnknown would add.
func noSuchAnalyzer(c *call.Call) error {
	return c.JSON(http.StatusInternalServerError, []byte(`{"error":"unknown_error","reason":"no_such_analyzer"}`))
}

// nouveauAnalyze serves POST /_nouveau_analyze (nouveau_httpd:handle_analyze_req/1,
// nouveau_api:analyze/2).
func nouveauAnalyze(c *call.Call) error {
	body, err := c.JSONRequest()
	if err != nil {
		return err
	}
	name, _ := body.Get("analyzer")
	text, _ := body.Get("text")
	if name.Kind() != ejson.String || text.Kind() != ejson.String || name.Text() == "" || text.Text() == "" {
		return errNouveauKinds
	}
	a, err := analysis.Lookup(analysis.Nouveau, name.Text())
	if err != nil {
		return compat.NewError(compat.KindBadRequest, name.Text()+" is not a valid analyzer name")
	}
	return answerTokens(c, a, text.Text())
}

// answerTokens answers with the terms that an analyzer makes of a text, in their order. Longer texts
// than maxAnalyzed are refused.
func answerTokens(c *call.Call, a *analysis.Analyzer, text string) error {
	if len(text) > maxAnalyzed {
		return errTextLong
	}
	// The bound is looked at before the analysis: terms take many times the bytes of their text.
	var tokens analysis.Tokens
	a.Analyze(&tokens, text)
	b := []byte(`{"tokens":[`)
	for i := range tokens.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = ejson.AppendString(b, tokens.Term(i))
	}
	return c.JSON(http.StatusOK, append(b, "]}"...))
}
