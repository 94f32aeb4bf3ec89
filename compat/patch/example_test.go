package patch_test

import (
	"fmt"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/compat/patch"
)

// An object is a merge patch, a list is a JSON Patch. What a patch does not name keeps its place and
// its digits.
func Example() {
	body := []byte(`{"title":"Tea","price":2.50,"tags":["hot"]}`)
	for _, text := range []string{
		`{"price":3,"title":null}`,
		`[{"op":"add","path":"/tags/-","value":"green"},{"op":"increment","path":"/price","value":1}]`,
	} {
		v, err := ejson.Parse([]byte(text))
		if err != nil {
			fmt.Println(err)
			return
		}
		p, err := patch.Parse(v)
		if err != nil {
			fmt.Println(err)
			return
		}
		result, err := p.Apply(patch.Target{ID: "tea", Body: body})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s\n", result.Body)
	}
	// Output:
	// {"price":3,"tags":["hot"]}
	// {"title":"Tea","price":3.5,"tags":["hot","green"]}
}
