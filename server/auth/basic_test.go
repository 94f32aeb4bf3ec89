package auth

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/principal"
)

func TestBasic(t *testing.T) {
	for header, want := range map[string]struct {
		name, password string
		ok             bool
		err            error
	}{
		"Basic YTpiOmM=":    {"a", "b:c", true, nil},
		"Basic  YTpiOmM= ":  {"a", "b:c", true, nil},
		"Basic YTp\ti OmM=": {"a", "b:c", true, nil},
		"Basic YTpiOmN=":    {"a", "b:c", true, nil}, // bits after the last byte
		"Basic":             {},
		"Basic  ":           {},
		"basic YTpi":        {},
		"Basic YWI=":        {}, // no colon
		"Basic Xzpf":        {}, // _:_
		"Basic YTpi!":       {err: ErrBadBasic},
		"Basic YTpiOmM":     {err: ErrBadBasic}, // padding is needed
		"Basic YTpiOmM==":   {err: ErrBadBasic},
		"Basic =":           {err: ErrBadBasic},
		"Basic YWI=YWI=":    {err: ErrBadBasic},
		"Basic YTpi-_==":    {err: ErrBadBasic},
		"Basic YTpiOm\xe9":  {err: ErrBadBasic},
		"Bearer x":          {},
	} {
		name, password, ok, err := Basic(header)
		require.Equal(t, want.err, err, header)
		require.Equal(t, want.ok, ok, header)
		require.Equal(t, want.name+want.password, name+password, header)
	}
}

func FuzzBasic(f *testing.F) {
	f.Add("Basic YTpi")
	f.Add("Basic ")
	f.Fuzz(func(t *testing.T, header string) {
		if _, _, ok, err := Basic(header); ok && err != nil {
			t.Fatal("both")
		}
	})
}

// TestToken: what is no bearer token is for other handlers; what is one and not valid is refused.
func TestToken(t *testing.T) {
	for header, refused := range map[string]bool{
		"": false, "Bearer ": false, "Bearer \t": false, "bearer a.b.c": false, "Basic YTpi": false, "Bearer abc": true,
	} {
		_, _, ok, err := Token(header, &principal.TokenRules{}, time.Unix(1, 0))
		require.False(t, ok, header)
		require.Equal(t, refused, err != nil, header)
	}
}
