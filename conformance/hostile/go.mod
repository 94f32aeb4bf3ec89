module github.com/settee-db/settee/conformance/hostile

go 1.26.0

require (
	github.com/settee-db/settee v0.0.0
	golang.org/x/net v0.60.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/dlclark/regexp2/v2 v2.13.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/settee-db/settee => ../..
