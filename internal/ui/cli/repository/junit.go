package repository

import (
	"encoding/xml"
	"fmt"
	"os"
)

// The elements of JUnit's XML that programs read.
type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	File     string         `xml:"classname,attr"`
	Name     string         `xml:"name,attr"`
	Failures []junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes results for programs that collect the results of many tools.
func writeJUnit(file string, doc TestsDoc) error {
	suite := junitSuite{Name: "fettle", Tests: len(doc.Tests)}
	for _, t := range doc.Tests {
		c := junitCase{File: t.File, Name: t.Name}
		if !t.OK {
			suite.Failures++
		}
		for _, d := range t.Diagnostics {
			c.Failures = append(c.Failures, junitFailure{d.Summary, fmt.Sprintf("%s: %s\n%s", d.Range, d.Detail, d.Line)})
		}
		suite.Cases = append(suite.Cases, c)
	}
	b, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{suite}}, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	if err := os.WriteFile(file, append([]byte(xml.Header), append(b, '\n')...), 0o644); err != nil {
		return fmt.Errorf("cannot write the results: %w", err)
	}
	return nil
}
