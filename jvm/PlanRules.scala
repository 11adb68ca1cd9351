package org.apache.spark.sql.millstream

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, FilterExec, SerializeFromObjectExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.RealTimeStreamScanExec
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec

/** Named by `spark.sql.extensions`. Columnar rules run after Spark has assigned state numbers to stateful operators. */
class Extensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    Seq(StatefulOperatorRule, KafkaScanRule, TableBootstrapRule).foreach { rule =>
      extensions.injectColumnar(_ => new ColumnarRule { override def preColumnarTransitions: Rule[SparkPlan] = rule })
    }
}

/** Replaces the transformWithState that Spark has planned by StatefulExec. */
object StatefulOperatorRule extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case out @ SerializeFromObjectExec(_, planned: TransformWithStateExec) =>
      (planned.statefulProcessor: Any) match {
        case processor: StatefulProcessorOf =>
          val (group, columns) = (planned.groupingAttributes, planned.dataAttributes)
          val child = StreamTimePunctuation.routed(planned.child, planned.stateInfo.get.numPartitions)
          StatefulExec(processor.spec, group, columns, out.output, planned.stateInfo, child)
        case _ => out
      }
  }
}

/** Puts KafkaScanExec over Spark's scans of our source. */
object KafkaScanRule extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case scan: RealTimeStreamScanExec if scan.stream.isInstanceOf[KafkaStream] => KafkaScanExec(scan)
  }
}

/** Replaces the filters that mark sources by the operators of TableBootstrapExec.scala. */
object TableBootstrapRule extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case FilterExec(BarrierMark(Nil, query), child) => BarrierWaitExec(query, child)
    case FilterExec(BarrierMark(Seq(offset: Attribute), input), child) => BarrierProgressExec(input, offset, child)
  }
}
