package documents

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
)

// most is a docread.Memory that notes how much was held.
type most int

func (m *most) Hold(_ context.Context, bytes int) error {
	*m = max(*m, most(bytes))
	return nil
}

// TestFunctionsHoldTheirDesign: who asks for the functions of a large design document holds what it
// takes when it is parsed, which may be many times its text.
func TestFunctionsHoldTheirDesign(t *testing.T) {
	s := newStore(t, `{}`, "db")
	rules := `{"rewrites":[` + strings.Repeat(`{"from":"a","to":"b"},`, 20_000) + `{}]}`
	_, err := put(t, s.as(admin, "db"), `{"_id":"_design/d",`+rules[1:])
	require.NoError(t, err)
	var held most
	_, err = s.Database("db", bob, Origin{Memory: &held}).Designs().Functions(t.Context(), "d")
	require.NoError(t, err)
	require.GreaterOrEqual(t, int64(held), int64(len(rules))+ejson.TapeSize([]byte(rules)))
}
