-- title: processing time windows
-- missing: windows by processing time; there are windows by the records' times only

