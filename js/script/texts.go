package script

import "regexp"

const invalidLength = "invalid array length"

// EngineText is the text that CouchDB's engine (SpiderMonkey) has for an error of goja's, or goja's
// own where the table has none. isRange: the error is a RangeError there, and a TypeError here.
func EngineText(text string) (translated string, isRange bool) {
	for _, t := range engineTexts {
		if t.from.MatchString(text) {
			translated = t.from.ReplaceAllString(text, t.to)
			return translated, translated == invalidLength
		}
	}
	return text, false
}

// engineTexts are the errors by whose texts programs tell what went wrong. CouchDB's engines do not
// agree on the others either (docs/compatibility.md).
var engineTexts = []struct {
	from *regexp.Regexp
	to   string
}{
	{ // goja says undefined of null as well
		regexp.MustCompile(`^Cannot read property '(.*)' of undefined(?: or null)?$`),
		`can't access property "$1", it is null or undefined`,
	},
	{regexp.MustCompile(`^Object has no member '(.*)'.*$`), `$1 is not a function`},
	{regexp.MustCompile(`^(?:Not a function|Value is not callable): (.*)$`), `$1 is not a function`},
	{regexp.MustCompile(`^Cannot assign to read only property '(\d+)'$`), `$1 is read-only`},
	{regexp.MustCompile(`^Cannot assign to read only property '(.*)'$`), `"$1" is read-only`},
	{
		regexp.MustCompile(`^Cannot add property \d+, object is not extensible$`),
		`can't define array index property past the end of an array with non-writable length`,
	},
	{
		regexp.MustCompile(`^Cannot (?:add|define) property (.*), object is not extensible$`),
		`can't define property "$1": Object is not extensible`,
	},
	{ // goja prints what is in its memory
		regexp.MustCompile(`(?s)^Could not convert .* to primitive$`),
		`can't convert object to primitive type`,
	},
	{regexp.MustCompile(`^Converting circular structure to JSON$`), `cyclic object value`},
	{regexp.MustCompile(`^Invalid array length$`), invalidLength},
	{regexp.MustCompile(`^Unexpected (?:end of input|token end of input)$`), `expected expression, got end of script`},
	{regexp.MustCompile(`^Unexpected token (\S+)$`), `expected expression, got '$1'`},
}
