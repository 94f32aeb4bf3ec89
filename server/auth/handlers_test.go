package auth

import (
	"testing"

	"github.com/settee-db/settee/principal"
)

func FuzzParseHandlers(f *testing.F) {
	f.Add("{chttpd_auth, cookie_authentication_handler}, {x,y}")
	f.Fuzz(func(t *testing.T, setting string) {
		if len(parseHandlers(setting)) == 0 {
			t.Fatal("no handler is left")
		}
		principal.ParseClaims(setting)
		principal.ParsePath(setting)
		principal.ParsePolicy(setting)
	})
}
