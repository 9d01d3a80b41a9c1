use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::TableType;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;

use super::slice::{ScanDescription, SlicedScan};
use crate::table::TableSpec;

/// A table on a cluster: its scans can be split into tasks.
#[derive(Debug)]
pub(super) struct ClusterTable {
    table: TableSpec,
    schema: SchemaRef,
}

impl ClusterTable {
    pub(super) fn new(table: TableSpec) -> Self {
        let schema = table.schema();
        Self { table, schema }
    }
}

#[async_trait]
impl TableProvider for ClusterTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let description = ScanDescription { table: self.table.clone(), projection: projection.cloned() };
        Ok(Arc::new(SlicedScan::whole(description)?))
    }
}
