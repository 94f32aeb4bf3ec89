// Package functionspage serves the web page of event functions at /_eventing/: static files that
// are part of the binary. The page does everything through the API of package server/functions, as
// the user who is logged in.
//
//	page.go  the routes and the policy of the files
//	page/    the files: index.html, page.css, modules of JavaScript that run in the browser as they are
//
// # Invariants
//
//  1. The files hold nothing that is secret, so that everybody gets them: what they show is asked
//     of the API.
//  2. Nothing of another server is loaded, and no script or style that is not one of these files is run: the policy of
//     every answer says so, and the page needs no exception from it. Data become text nodes and values, never markup.
package functionspage
