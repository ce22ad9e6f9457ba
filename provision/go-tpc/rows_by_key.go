package tpcc

import (
	"regexp"
	"strings"
)

// As in `(s_w_id, s_i_id) IN ((?,?),(?,?))`.
var rowsInList = regexp.MustCompile(`\((\w+(?:,\s*\w+)+)\) IN \(\s*(\([?,]+\)(?:,\([?,]+\))*)\s*\)`)

// rowsByKey says the same of each row by itself, as in `((s_w_id = ? AND s_i_id = ?) OR (s_w_id = ? AND s_i_id = ?))`:
// MySQL before 5.7.3 reads and locks the whole table for the other form.
func rowsByKey(query string) string {
	return rowsInList.ReplaceAllStringFunc(query, func(found string) string {
		parts := rowsInList.FindStringSubmatch(found)
		columns := strings.Split(parts[1], ",")
		for place, column := range columns {
			columns[place] = strings.TrimSpace(column) + " = ?"
		}
		row := "(" + strings.Join(columns, " AND ") + ")"
		rows := strings.Count(parts[2], "(")
		return "(" + strings.Repeat(row+" OR ", rows-1) + row + ")"
	})
}
