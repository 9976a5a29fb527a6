package view

// version is of the schema. A file of another version is thrown away and made again.
const version = 8

// Targets, modules and commits are numbers of words here: the same text stands on
// thousands of rows. In the same way parts holds what assignments have in common, and
// listed the lists of modules that many targets share; lists finds them by their digest.
// A status lacks something when it was made of a part whose first reports were not there.
// An event of a run is about each module whose version it changed: about is a word that tells
// them, and sets has them, since a commit changes the same of all who have it.
// What very many say in the same words is a phrase, which is a word, in place of a text.
// What a target says of its modules is one value, see packRows: a row for each would be
// three quarters of the file.
const schema = `
CREATE TABLE words (n INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE position (seq INTEGER NOT NULL, mark BLOB NOT NULL);
INSERT INTO position VALUES (0, x'');
CREATE TABLE targets (target INTEGER PRIMARY KEY, name TEXT NOT NULL, gone INTEGER NOT NULL, active INTEGER NOT NULL, doc TEXT NOT NULL);
CREATE INDEX targets_by_name ON targets (name);
CREATE TABLE assignments (target INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, generation INTEGER NOT NULL, issued INTEGER NOT NULL, frozen TEXT NOT NULL, withdrawn TEXT NOT NULL, top INTEGER NOT NULL, list INTEGER NOT NULL);
CREATE TABLE parts (n INTEGER PRIMARY KEY, module INTEGER NOT NULL, commit_ INTEGER NOT NULL, bundle INTEGER NOT NULL, doc TEXT NOT NULL UNIQUE);
CREATE TABLE lists (list INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE);
CREATE TABLE listed (list INTEGER NOT NULL, place INTEGER NOT NULL, module INTEGER NOT NULL, part INTEGER NOT NULL, PRIMARY KEY (list, place)) WITHOUT ROWID;
CREATE TABLE statuses (target INTEGER PRIMARY KEY, seq INTEGER NOT NULL, at INTEGER NOT NULL, epoch INTEGER NOT NULL, generation INTEGER NOT NULL, version INTEGER NOT NULL, drift INTEGER NOT NULL, frozen TEXT NOT NULL, run INTEGER NOT NULL, changed INTEGER NOT NULL, error TEXT NOT NULL, facts INTEGER NOT NULL, lacks INTEGER NOT NULL);
CREATE TABLE modules (target INTEGER PRIMARY KEY, rows BLOB NOT NULL);
CREATE TABLE sums (target INTEGER PRIMARY KEY, modules INTEGER NOT NULL, behind INTEGER NOT NULL, states INTEGER NOT NULL, error TEXT NOT NULL, waits TEXT NOT NULL);
CREATE TABLE events (seq INTEGER NOT NULL, place INTEGER NOT NULL, target INTEGER NOT NULL, hub INTEGER NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL, kind INTEGER NOT NULL, module INTEGER NOT NULL, run INTEGER NOT NULL, changes INTEGER NOT NULL, text TEXT NOT NULL, error TEXT NOT NULL, by INTEGER NOT NULL, about INTEGER NOT NULL, phrase INTEGER NOT NULL, PRIMARY KEY (seq, place)) WITHOUT ROWID;
CREATE TABLE sets (module INTEGER NOT NULL, about INTEGER NOT NULL, PRIMARY KEY (module, about)) WITHOUT ROWID;
CREATE UNIQUE INDEX events_by_target ON events (target, hub, number);
`

// tables are those that a model which is made anew is emptied of, besides its position.
var tables = [...]string{"words", "targets", "assignments", "parts", "lists", "listed", "statuses", "modules", "sums", "events", "sets"}
