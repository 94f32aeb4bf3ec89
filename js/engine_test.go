package js

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv/kvtest"
)

// What CouchDB's engine gives and goja alone does not.
func TestEngine(t *testing.T) {
	kvtest.Long(t)
	p := newTestPool(t, Options{})
	for source, want := range map[string]string{
		// dates
		"new Date('13/1/2020')":                        `null`,
		"[Date.parse('1-Jan-2020'), Date.parse(NaN)]":  `[-125912275200000,null]`,
		"[new Date(-1, 0), new Date(253402300800000)]": `["-000001-01-01T00:00:00.000Z","+010000-01-01T00:00:00.000Z"]`,
		"[new Date(-1).setMilliseconds(-1), new Date(5).setUTCMilliseconds(1.9), new Date(5).setMilliseconds()]":   `[-1001,1,null]`,
		"[new Date(['user', -1]), new Date([1]), +new Date([2020, 1, 2]), +new Date(new String('2020-1-2'))]":      `[null,null,1577923200000,1577923200000]`,
		"[+new Date({valueOf: () => 5}), +new Date(new Date(7)), +new Date({[Symbol.toPrimitive]: h => h + '1'})]": `[5,7,null]`,
		// numbers between two
		"[25..toPrecision(1), (-105).toPrecision(2), 35..toPrecision(1), 2.5.toPrecision(1), 0.5.toPrecision(3)]": `["2e+1","-1.0e+2","4e+1","3","0.500"]`,
		"[245..toExponential(1), 255..toExponential(1), 95..toExponential(0), 245..toExponential()]":              `["2.4e+2","2.6e+2","1e+2","2.45e+2"]`,
		"[(NaN).toPrecision(0), typeof JSON.rawJSON]":                                                             `["NaN","undefined"]`,
		// JSON
		"[JSON.stringify([1, {}], null, '\u00a0é'), JSON.stringify([1], null, new String('é'.repeat(11))), JSON.stringify(), JSON.stringify.length]": `["[\n é1,\n é{}\n]","[\néééééééééé1\n]",null,3]`,
		"[JSON.stringify([1], null, Infinity), JSON.stringify([1], null, 2.9), JSON.stringify([1], null, -1), JSON.stringify([1], null, '-')]":       `["[\n          1\n]","[\n  1\n]","[1]","[\n-1\n]"]`,
		// comparisons go from left to right
		"[0 < 3 < 2, 3 > 2 > 1, 0 < (3 < 2), 0 < doc.n * (1 + 1) < 1, 0 < ((1 + 1) * doc.n < 1)]":           `[true,false,false,false,false]`,
		"[9 > [5][0] > 4 > (3 > 2), 1 <= (2) < 2, '_id' in doc in {true: 1}, doc instanceof Object in doc]": `[false,true,true,false]`,
		"0 < ')'.indexOf(')') + 1 < 2": `true`,
		// the order of en_US_POSIX
		"['b', 'ä', '½', 'Z', '€', '😀', 'æ', 'ø', '-', 'a\u200bc', 'ab', '٣', '\ufb01', '日', ''].sort(function (a, b) { return a.localeCompare(b); })": `["","😀","€","½","٣","æ","-","Z","ä","ab","a` + "\u200b" + `c","b","ﬁ","ø","日"]`,
		"text(function () { throw Error(); })": `""`,
		// integers beyond 64 bits
		"[parseInt('44267330291859460000'), parseInt(' -44267330291859460000x', 10), parseInt('0xffffffffffffffffffff')]": `[44267330291859460000,-44267330291859460000,1.2089258196146292e24]`,
		"[parseInt('12'), parseInt('zz', 36), parseInt(), Number.parseInt === parseInt]":                                  `[12,1295,null,true]`,
		// what goja would show of its memory
		"text(function () { return {toString: 1} + 1; })": `"can't convert object to primitive type"`,
	} {
		got, err := mapText(t, p, `function (doc) {
			function text(f) { try { return f(); } catch (e) { return e.message; } }
			emit(`+source+`);
		}`, "", `{"_id":"x","n":1}`)
		require.NoError(t, err)
		require.Equal(t, want+":null|", got, source)
	}
}

// A module that failed fails again.
func TestModulesThatFail(t *testing.T) {
	d := newTestPool(t, Options{}).Design("db", []byte(`{"_id":"_design/d","lib":{"t":"throw new Error('a')","s":"exports.x = ;"},
"shows":{"t":"function () { return require('lib/t').x; }","s":"function () { return require('lib/s').x; }"}}`))
	for _, name := range []string{"t", "s"} {
		for range 2 {
			got := callText(t, d, []string{"shows", name}, "null", `{"method":"GET","path":["db"],"headers":{"Accept":"text/html"},"query":{}}`)
			require.Contains(t, got, "500 compilation_error \"Module require('lib/"+name+"') raised error ")
		}
	}
}
