-- Blocks of 64 KiB.
import System.Environment
import System.IO
main = do { hSetBuffering stdout (BlockBuffering (Just 65536)); [n] <- getArgs; mapM_ (\i -> putStrLn ("line " ++ show i)) [0 .. read n - 1 :: Int] }
