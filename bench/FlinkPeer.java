import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.StatementSet;
import org.apache.flink.table.api.TableEnvironment;

/**
 * Runs a file of Flink SQL on Flink's mini cluster in this process, until it is ended or the job fails. Prints when it
 * began with the first statement, in epoch ms.
 *
 * <p>Arguments: FILE [setting=value ...]. Statements end with a semicolon at the end of a line; all INSERT statements are
 * one job.
 */
public final class FlinkPeer {
  private FlinkPeer() {}

  public static void main(String[] arguments) throws Exception {
    Configuration settings = new Configuration();
    for (int i = 1; i < arguments.length; i++) {
      String[] setting = arguments[i].split("=", 2);
      settings.setString(setting[0], setting[1]);
    }
    TableEnvironment tables =
        TableEnvironment.create(
            EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(settings).build());
    System.out.println("REQUESTED " + System.currentTimeMillis());
    StatementSet inserts = tables.createStatementSet();
    for (String statement : Files.readString(Path.of(arguments[0])).split(";\\s*(\\n|$)")) {
      if (statement.stripLeading().startsWith("INSERT")) {
        inserts.addInsertSql(statement);
      } else if (!statement.isBlank()) {
        tables.executeSql(statement);
      }
    }
    inserts.execute().await();
  }
}
