// Package web serves the pages that show a fleet in a browser.
//
//	site := web.New(web.Config{
//		Client: func(*http.Request) (*client.Client, error) { return c, nil },
//
// //	})
//
//	err := http.Serve(listener, site)
//
// Each page reads from a hub through the routes of its API, with the rights of the user: a page can show and change
// nothing that the command line cannot. A page names the command and the address of the API that return the same data.
//
// # Pages
//
// The server renders each page. Links, filters and buttons work without a script. The script replaces the main part
// of a page when it has changed, see Site.live. It uses assets/idiomorph.min.js, which is idiomorph 0.8.0 without
// changes (https://github.com/bigskysoftware/idiomorph, licence 0BSD).
//
// # Safety
//
// The texts of a page come from agents, commits and users. html/template escapes them, depending on their place. The
// Content-Security-Policy permits scripts and styles only from this site, and none inside of a page. Requests that
// change something are refused if another site sent them.
package web
