package query_test

import (
	"fmt"

	"github.com/settee-db/settee/search/query"
)

// A query is parsed to a tree, which can be printed with every field named.
func ExampleParse() {
	node, err := query.Parse(`quick AND title:"brown fox"~2`, query.Options{
		Dialect: query.Classic, DefaultField: "default",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, clause := range node.(*query.Group).Clauses {
		fmt.Printf("%T\n", clause.Node)
	}
	fmt.Println(query.Print(node, query.Classic))
	// Output:
	// *query.Text
	// *query.Text
	// default:quick AND title:"brown fox"~2
}

// The text of an error is what the search server of the language answers with.
func ExampleError() {
	_, err := query.Parse("title:", query.Options{Dialect: query.Flexible, DefaultField: "default"})
	fmt.Println(err)
	// Output: Syntax Error, cannot parse title:: Encountered "<EOF>" at line 1, column 6.
}
