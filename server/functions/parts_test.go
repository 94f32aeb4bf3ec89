package functions_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

func TestBindingsAndCode(t *testing.T) {
	x := newFixture(t)
	secret := `{"source_bucket":"a","curl":[{"hostname":"https://h/p","value":"api","auth_type":"basic",` +
		`"username":"u","password":"geheim"}]}`
	masked := strings.Replace(secret, "geheim", "*****", 1)
	sum := sha256.Sum256([]byte("function OnDelete(meta){} // <&>"))
	x.run([]step{
		{"POST", "/functions/f", function(), 200, 0, ""},
		{"POST", "/functions/f/config", secret, 200, 0, `"info": "Function: f stored config"`},
		{"GET", "/functions/f/config", "", 200, 0, `"password": "*****"`},
		{"POST", "/functions/f/config", masked, 200, 0, ""},
		{"POST", "/functions/f/config", strings.Replace(masked, "//h/", "//evil/", 1), 400, 38, "given again"},
		{"POST", "/functions/f/config", `{"source_bucket":"a","buckets":[{"alias":"if","bucket_name":"b",` +
			`"access":"r"}]}`, 400, 38, "reserved"},
		{"POST", "/functions/f/config", `[`, 400, 16, ""},
		{"POST", "/functions/f", function(`"access"`, `"acces":"r","access"`), 200, 0,
			"there is no member depcfg.buckets[0].acces: it is not stored"},
		{"POST", "/functions/f/config", `{"source_bucket":"a","bucket":[]}`, 200, 0, "there is no member bucket: "},
		{"POST", "/functions/f/config", secret, 200, 0, ""},
		{"POST", "/functions/f/appcode", "function OnDelete(meta){} // <&>", 200, 0,
			`"info": "Function: f stored appcode"`},
		{"POST", "/functions/f/appcode", "syntax error", 422, 27, "SyntaxError"},
		{"POST", "/functions/f/appcode", strings.Repeat("x", 128<<10+1), 400, 39, ""},
		{"GET", "/functions/f/appcode", "", 200, 0, "function OnDelete(meta){} // <&>"},
		{"GET", "/functions/f/appcode/checksum", "", 200, 0, hex.EncodeToString(sum[:])},
		{"POST", "/functions/f/appcode/checksum", "", 405, 62, ""},
	})
	r, err := x.reg.Get(t.Context(), definition.Ref{Scope: definition.Global, Name: "f"})
	require.NoError(t, err)
	require.Equal(t, "geheim", r.Draft.Bindings.Curl[0].Password)
	for _, path := range []string{"/functions/f", "/functions", "/functions/f/config", "/export", "/backup"} {
		require.NotContains(t, x.Do("GET", base+path, "").Body.String(), "geheim", path)
	}
}
