package compat

import (
	"regexp"
	"strings"
	"testing"
)

// TestBreakTerm holds terms as ~p of OTP 25 prints them.
func TestBreakTerm(t *testing.T) {
	lines := regexp.MustCompile(`\n +`)
	for _, want := range []string{
		`{http_request_failed,"GET","http://127.0.0.1:9/x/",
                     {error,{error,{conn_failed,{error,econnrefused}}}}}`,
		`{http_request_failed,"GET",
                     "http://127.0.0.1:15962/a_longer_database_name_here/",
                     {error,{error,{conn_failed,{error,econnrefused}}}}}`,
		`{changes_req_failed,404,
                    {[{<<"error">>,<<"not_found">>},
                      {<<"reason">>,<<"missing json key: zz">>}]}}`,
		`{changes_req_failed,400,
                    {[{<<"error">>,<<"bad_request">>},
                      {<<"reason">>,
                       <<"Malformed sequence supplied in 'since' parameter.">>}]}}`,
		`{bulk_docs_failed,413,
                  {[{<<"error">>,<<"too_large">>},
                    {<<"reason">>,
                     <<"the request entity is too large, really it is, {x}, \"y\"">>}]}}`,
		`{doc_write_failed,{<<"internal_server_error">>,
                   <<"some rather long text that goes beyond the end of the line, I hope">>}}`,
		`{replication_auth_error,
    {session_request_failed,"http://127.0.0.1:9/_session","u",
        {conn_failed,{error,econnrefused}}}}`,
		`{replication_auth_error,
    {session_unexpected_result,"http://db.example.org:5984/_session","u",302}}`,
		`{error,{a,[1,2,3,{bcd,"efg"},["x",{y,z}]],
          <<"a long binary that fills the line as it is">>,
          "and more text here"}}`,
		`{x,<<"a long binary that fills the line as it is and goes on and on, until the line is full for sure">>,
   "and more"}`,
		`{very_long_tag_that_is_beyond_the_half_of_a_line,
    {another_long_tag_that_does_not_fit_there,
        {third_tag_of_some_length,"abc","def"}},
    "ghi"}`,
		`{worker_died,missing_doc}`,
		`{[{<<"a">>,1},
  {<<"b">>,[true,null,{[]}]},
  {<<"long name of a member">>,<<"and a long value of it, more than fits">>},
  {<<"z">>,-1.5}]}`,
		`{http_request_failed,"POST",
                     "https://a-host-with-a-rather-long-name.example.org:6984/db/_revs_diff",
                     {error,{code,503}}}`,
		`{a,
 {b,
  {c,
   {d,
    {e,
     {f,
      {g,
       {h,
        {i,{j,{k,{l,{m,"1234567890123456789012345678901234567890"}}}}}}}}}}}}}`,
	} {
		if got := BreakTerm(lines.ReplaceAllString(want, ""), 1); got != want {
			t.Errorf("gives\n%s\nnot\n%s", got, want)
		}
	}
}

// FuzzBreakTerm: breaking adds nothing but line feeds and blanks, whatever the term.
func FuzzBreakTerm(f *testing.F) {
	f.Add(`{error,{conn_failed,{error,econnrefused}},"a \"text\" of some length, so that it is broken",[1,2,<<1,2>>]}`)
	f.Add(strings.Repeat("[", 100))
	f.Add(strings.Repeat(`"\`, 50))
	f.Add(strings.Repeat("<<", 50))
	f.Add("{a" + strings.Repeat("0", 80) + ",<<0")
	plain := strings.NewReplacer("\n", "", " ", "")
	f.Fuzz(func(t *testing.T, term string) {
		if got := BreakTerm(term, 1); isPrinted(term) && plain.Replace(got) != plain.Replace(term) {
			t.Errorf("%q became %q", term, got)
		}
	})
}

// isPrinted reports whether the brackets of a text without quotes fit each other, as those of a printed term do.
func isPrinted(s string) bool {
	if s == "" || strings.ContainsAny(s, "\"'<\\") || s[0] != '{' && s[0] != '[' {
		return false
	}
	var open []byte
	for i := range len(s) {
		switch c := s[i]; c {
		case '{', '[':
			open = append(open, c+2)
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c || len(open) == 1 && i < len(s)-1 || s[i-1] == ',' {
				return false
			}
			open = open[:len(open)-1]
		case ',':
			if s[i-1] == ',' || s[i-1] == '{' || s[i-1] == '[' {
				return false
			}
		default:
			if i > 0 && (s[i-1] == '}' || s[i-1] == ']') {
				return false
			}
		}
	}
	return len(open) == 0
}
