-- Pages by due time, for a frontier that holds only pages that are due soon.
CREATE INDEX page_by_due ON page (next_due) WHERE next_due IS NOT NULL;
